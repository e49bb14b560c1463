"""The sampling side of GRPO: a copy of the model that writes completions, and the place reached in the task.

Randomness comes from torch's global generator, because transformers' `generate` accepts no other.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel

from dagrl.recipes.grpo.loss import score_tokens
from dagrl.recipes.grpo.prompts import prompts_for
from dagrl.recipes.grpo.settings import GrpoSettings
from dagrl.step import StepContext


def complete(model: PreTrainedModel, tokens: Tensor, mask: Tensor, config: GenerationConfig) -> tuple[Tensor, Tensor]:
    """Continue each row: all tokens, and a mask of the completions' own, up to and with their end."""
    generate: Any = model.generate
    sequences = generate(tokens, attention_mask=mask, generation_config=config)
    ends = (sequences[:, tokens.shape[1] :] == config.eos_token_id).long()
    # A token belongs to the completion when no end stands before it.
    return sequences, (ends.cumsum(dim=1) - ends == 0).long()


@torch.no_grad()
def sample_groups(step: StepContext, settings: GrpoSettings, state: dict[str, Any]) -> dict[str, Any]:
    """`group_size` completions for each of the next prompts, with the log-probabilities they were drawn with."""
    model, cursor = state["model"], state["cursor"]
    prompts = prompts_for(settings, cursor["seed"])
    entries = prompts.entries(cursor["position"])
    cursor["position"] += len(entries)

    texts = [prompts.text(entry) for entry in entries]
    tokens, mask = (each.repeat_interleave(settings.group_size, 0).to(model.device) for each in prompts.batch(texts))
    make_config: Any = GenerationConfig
    config = make_config(
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        max_new_tokens=settings.max_response_length,
        pad_token_id=prompts.tokenizer.pad_id,
        eos_token_id=prompts.tokenizer.eos_id,
    )
    tokens, response_mask = complete(model, tokens, mask, config)
    mask = torch.cat([mask, response_mask], dim=1)
    width = response_mask.shape[1]
    logprobs = score_tokens(model, tokens, mask, width).logprobs

    lengths = response_mask.sum(dim=1)
    step.metrics.log(response_length=lengths.float().mean().item())
    written = zip(tokens[:, -width:].tolist(), lengths.tolist(), strict=True)
    tensors = {"tokens": tokens, "attention_mask": mask, "response_mask": response_mask, "logprobs": logprobs}
    return {
        # As arrays, so that a worker which only scores completions has no need to load torch.
        **{name: tensor.cpu().numpy() for name, tensor in tensors.items()},
        "prompts": texts,
        "entries": entries,
        "completions": [prompts.tokenizer.decode(ids[:length]) for ids, length in written],
    }
