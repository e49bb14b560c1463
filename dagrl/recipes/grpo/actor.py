"""The training side of GRPO: model, optimizer, learning rate, and the frozen reference when a divergence is priced.

A batch may stem from older weights: the ratio to the log-probabilities that came with it corrects for that, and is
clipped. Gradients are gone when a train step ends, so none of them is ever saved or moved.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from dagrl.recipes.grpo.loss import clipped_objective, group_advantages, kl_estimate, masked_mean, score_tokens
from dagrl.recipes.grpo.settings import TRAINED_ON, GrpoSettings

Batch = Mapping[str, Tensor]


def new_actor(model: PreTrainedModel, settings: GrpoSettings) -> dict[str, Any]:
    """The state of an actor around a model."""
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=settings.learning_rate,
        betas=(0.9, 0.95),
        weight_decay=settings.weight_decay,
        fused=True,
    )
    warmup = max(settings.lr_warmup_steps, 1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1 / warmup, total_iters=warmup - 1)
    actor: dict[str, Any] = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    if settings.kl_coef > 0:
        actor["reference"] = copy.deepcopy(model).requires_grad_(requires_grad=False)
    return actor


def new_batch(artifact: Mapping[str, Any], settings: GrpoSettings, device: torch.device) -> dict[str, Tensor]:
    """Tensors of sampled completions and what was scored, one row for each completion."""
    rewards = torch.tensor(artifact["rewards"], dtype=torch.float32, device=device)
    batch = {name: torch.tensor(artifact[name], device=device) for name in TRAINED_ON}
    batch["advantages"] = group_advantages(rewards, settings.group_size, normalize=settings.normalize_advantages)
    return batch


def mini_batches(batch: Batch, settings: GrpoSettings) -> Iterator[Batch]:
    """The batch, once for each epoch, whole or in random parts of `train_mini_batch_size` completions."""
    count = len(batch["tokens"])
    for _ in range(settings.num_epochs_per_batch):
        if settings.train_mini_batch_size is None:
            yield batch
        else:
            for rows in torch.split(torch.randperm(count), settings.train_mini_batch_size):
                yield {name: tensor[rows] for name, tensor in batch.items()}


def update(actor: dict[str, Any], batch: Batch, settings: GrpoSettings) -> dict[str, float]:
    """One optimizer step. Returns the numbers worth a look."""
    model, optimizer, mask = actor["model"], actor["optimizer"], batch["response_mask"]
    place = batch["tokens"], batch["attention_mask"], mask.shape[1]
    scores = score_tokens(model, *place)
    log_ratio = scores.logprobs - batch["logprobs"]
    objective = clipped_objective(log_ratio, batch["advantages"][:, None], settings.clip_ratio)
    entropy = masked_mean(scores.entropy, mask)
    loss = -masked_mean(objective, mask) - settings.entropy_coef * entropy
    numbers = {"entropy": entropy, "clip_fraction": _moved(log_ratio, mask, settings.clip_ratio)}
    if "reference" in actor:
        with torch.no_grad():
            reference = score_tokens(actor["reference"], *place).logprobs
        numbers["kl"] = masked_mean(kl_estimate(scores.logprobs, reference), mask)
        loss = loss + settings.kl_coef * numbers["kl"]
    torch.autograd.backward(loss)
    numbers["grad_norm"] = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
    optimizer.step()
    actor["scheduler"].step()
    optimizer.zero_grad(set_to_none=True)
    return {"loss": loss.item(), **{name: value.item() for name, value in numbers.items()}}


def _moved(log_ratio: Tensor, mask: Tensor, clip_ratio: float) -> Tensor:
    return masked_mean(((log_ratio.detach().exp() - 1).abs() > clip_ratio).float(), mask)
