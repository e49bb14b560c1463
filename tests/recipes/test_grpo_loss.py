"""GRPO's arithmetic, against numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch

from dagrl.recipes.grpo.loss import clipped_objective, group_advantages, kl_estimate, masked_mean, score_tokens
from dagrl.recipes.grpo.model import load_model
from dagrl.recipes.grpo.settings import GrpoSettings


def close(given: torch.Tensor, expected: list[float]) -> bool:
    return torch.allclose(given, torch.tensor(expected, dtype=torch.float32), atol=1e-5)


def test_an_advantage_is_the_distance_from_the_groups_mean() -> None:
    rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5])
    assert close(group_advantages(rewards, 4), [0.5, -0.5, -0.5, 0.5, 0, 0, 0, 0])


def test_normalized_advantages_are_counted_in_the_groups_deviations() -> None:
    rewards = torch.tensor([3.0, 1.0, 0.3, 0.1, 1.0, 1.0])
    advantages = group_advantages(rewards, 2, normalize=True)
    assert torch.allclose(advantages[:2], torch.tensor([1.0, -1.0]) / 2**0.5, atol=1e-3)
    assert torch.allclose(advantages[:2], advantages[2:4], atol=1e-3)
    assert close(advantages[4:], [0, 0])


def test_padding_does_not_count() -> None:
    values, mask = torch.tensor([[1.0, 3.0], [5.0, 100.0]]), torch.tensor([[1, 1], [1, 0]])
    assert masked_mean(values, mask).item() == 3


@pytest.mark.parametrize(
    ("ratio", "advantage", "objective"),
    [(1.0, 2.0, 2.0), (1.5, 2.0, 2.4), (0.5, 2.0, 1.0), (1.5, -2.0, -3.0), (0.5, -2.0, -1.6)],
)
def test_moving_past_the_clip_ratio_earns_nothing_more(ratio: float, advantage: float, objective: float) -> None:
    given = clipped_objective(torch.tensor([ratio]).log(), torch.tensor([advantage]), 0.2)
    assert close(given, [objective])


def test_a_clipped_token_pulls_no_more() -> None:
    log_ratio = torch.tensor([0.5, 0.0, -0.5], requires_grad=True)
    clipped_objective(log_ratio, torch.tensor([1.0, 1.0, 1.0]), 0.2).sum().backward()  # type: ignore[no-untyped-call]
    assert log_ratio.grad is not None
    assert close(log_ratio.grad, [0, 1, torch.tensor(-0.5).exp().item()])


def test_the_divergence_is_zero_between_equals_and_never_negative() -> None:
    logprobs = torch.tensor([-1.0, -2.0, -0.1])
    assert close(kl_estimate(logprobs, logprobs), [0, 0, 0])
    assert (kl_estimate(logprobs, torch.tensor([-3.0, -0.5, -0.2])) > 0).all()


def test_the_divergence_is_right_on_average() -> None:
    torch.manual_seed(0)
    policy, reference = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5])
    drawn = torch.multinomial(policy, 100_000, replacement=True)
    estimate = kl_estimate(policy.log()[drawn], reference.log()[drawn]).mean()
    assert estimate.item() == pytest.approx((policy * (policy / reference).log()).sum().item(), abs=0.01)


def test_tokens_are_scored_as_the_whole_model_scores_them_and_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    model = load_model(GrpoSettings(), "cpu")
    tokens = torch.tensor([[1, 5, 6, 7, 8, 2]])
    with torch.no_grad():
        whole = torch.log_softmax(model(input_ids=tokens).logits, dim=-1)[0]
        scores = score_tokens(model, tokens, torch.ones_like(tokens), 3)
        padded = torch.cat([torch.zeros(1, 2, dtype=torch.long), tokens], dim=1)
        shifted = score_tokens(model, padded, (padded > 0).long(), 3)
    expected = [whole[place - 1, tokens[0, place]].item() for place in (3, 4, 5)]
    assert close(scores.logprobs[0], expected)
    assert close(scores.entropy[0], [-(whole[place].exp() * whole[place]).sum().item() for place in (2, 3, 4)])
    assert torch.allclose(shifted.logprobs, scores.logprobs, atol=1e-5)
