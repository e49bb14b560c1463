"""GRPO's arithmetic on tensors: advantages within groups, the clipped objective, its bonus and its penalty.

Owns the formulas and nothing else: no model, no optimizer, no state. All sums run over the tokens of completions up to
and with their end; every token counts the same, however long its completion is.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class TokenScores:
    """What a model says of the tokens of completions: shape (completions, response length)."""

    #: Log-probability of the token that stands there.
    logprobs: Tensor
    #: Entropy of the distribution that it was drawn from, in nats.
    entropy: Tensor


def score_tokens(model: PreTrainedModel, tokens: Tensor, mask: Tensor, response_length: int) -> TokenScores:
    """Judge the last `response_length` tokens of each row.

    Sampler and trainer both ask this function, so with equal weights they get equal bits and a ratio of exactly 1.
    """
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    output = model(
        input_ids=tokens,
        attention_mask=mask,
        position_ids=positions,
        use_cache=False,
        logits_to_keep=response_length + 1,
    )
    # The logits at one position speak of the token at the next.
    logprobs = torch.log_softmax(output.logits[:, :-1].float(), dim=-1)
    chosen = logprobs.gather(-1, tokens[:, -response_length:, None]).squeeze(-1)
    return TokenScores(chosen, -(logprobs.exp() * logprobs).sum(dim=-1))


def group_advantages(rewards: Tensor, group_size: int, *, normalize: bool = False) -> Tensor:
    """How much better than its group's mean each completion did, in group deviations if `normalize`."""
    groups = rewards.view(-1, group_size)
    advantages = groups - groups.mean(dim=1, keepdim=True)
    if normalize:
        advantages = advantages / (groups.std(dim=1, keepdim=True) + 1e-4)
    return advantages.flatten()


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the places where `mask` is 1."""
    return (values * mask).sum() / mask.sum()


def clipped_objective(log_ratio: Tensor, advantages: Tensor, clip_ratio: float) -> Tensor:
    """Per token: ratio x advantage, or the clipped ratio's product where that is less."""
    ratio = log_ratio.exp()
    return torch.min(ratio * advantages, ratio.clamp(1 - clip_ratio, 1 + clip_ratio) * advantages)


def kl_estimate(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Per token: an unbiased estimate, never negative, of the divergence from the reference (Schulman's k3)."""
    log_ratio = reference - logprobs
    return log_ratio.exp() - log_ratio - 1
