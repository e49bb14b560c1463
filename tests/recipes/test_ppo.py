"""The PPO recipe: the library's own result, bit for bit, from two halves that know nothing of each other."""

from __future__ import annotations

import copy
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from dagrl.recipes.ppo import RECIPE, build_collector
from dagrl.recipes.ppo.algorithm import ROLLOUT, Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.recipes.conftest import Build, Rehearsal

SMALL = {"num_envs": 2, "num_env_steps": 64, "train_mini_batch_size": 32, "num_epochs_per_batch": 3}


def learn(
    iterations: int, learning_rate: float | Callable[[float], float], clip: float | Callable[[float], float]
) -> PPO:
    """What a person would write with stable-baselines3 for SMALL and seed 4."""
    algorithm = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", 2),
        learning_rate=learning_rate,
        n_steps=64,
        batch_size=32,
        n_epochs=3,
        gamma=0.98,
        gae_lambda=0.8,
        clip_range=clip,
        seed=4,
        device="cpu",
    )
    return algorithm.learn(2 * 64 * iterations)


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(name == same and torch.equal(value, equal) for (name, value), (same, equal) in pairs)


def test_two_halves_come_to_the_very_weights_that_learn_comes_to(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL, seed=4)
    job.run(3)
    whole = learn(3, 1e-3, 0.2)
    assert same_weights(job.states["learner"]["policy"], whole.policy)
    assert job.states["learner"]["learner"].state_dict()["num_updates"] == whole._n_updates
    assert job.states["collector"]["collector"].num_timesteps == whole.num_timesteps
    assert_equal(job.states["collector"]["collector"]._last_obs, whole._last_obs)


def test_schedules_fall_as_they_do_in_learn(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, {**SMALL, "decay_env_steps": 2 * 64 * 3}, seed=4)
    logged = job.run(3)
    assert same_weights(
        job.states["learner"]["policy"], learn(3, lambda left: left * 1e-3, lambda left: left * 0.2).policy
    )
    assert [each["learning_rate"] for each in logged] == pytest.approx([2e-3 / 3, 1e-3 / 3, 0])


def test_a_schedule_that_has_run_out_stays_at_zero(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, {**SMALL, "decay_env_steps": 100})
    assert job.run(1)[0]["learning_rate"] == 0


def test_cartpole_is_learned(rehearse: type[Rehearsal]) -> None:
    logged = rehearse(RECIPE, {"num_epochs_per_batch": 6}, seed=11).run(12)
    assert logged[0]["reward"] < 30
    assert logged[-1]["reward"] > 2 * logged[0]["reward"]
    assert logged[-1]["entropy"] < logged[0]["entropy"]


def test_stale_rollouts_teach_as_well(rehearse: type[Rehearsal]) -> None:
    logged = rehearse(RECIPE, {"num_epochs_per_batch": 6}, seed=11, max_staleness=1).run(10)
    assert logged[-1]["reward"] > 1.5 * logged[0]["reward"]


def assert_equal(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_equal(one[name], other[name])
    elif isinstance(one, np.ndarray):
        assert np.array_equal(one, other)
    else:
        assert one == other


def test_no_clock_is_in_a_collectors_state(rehearse: type[Rehearsal]) -> None:
    jobs = [rehearse(RECIPE, SMALL) for _ in range(2)]
    for job in jobs:
        job.run(2)
    first, second = (job.states["collector"]["collector"].state_dict() for job in jobs)
    assert first["episodes"]
    assert_equal(first, second)


def handed_over(collector: Collector, state: Mapping[str, Any], build: type[Build]) -> Collector:
    """A new collector that stands where the old one stands: weights, environments, then its own state."""
    new: Collector = build_collector(build(SMALL, seed=99))["collector"]
    new.policy.load_state_dict(collector.policy.state_dict())
    new.env = copy.deepcopy(collector.env)
    new.load_state_dict(copy.deepcopy(dict(state)))
    return new


def rollout(collector: Collector) -> dict[str, Any]:
    torch.manual_seed(3)
    return collector.collect()


def test_a_collector_goes_on_where_another_stood(rehearse: type[Rehearsal], build: type[Build]) -> None:
    job = rehearse(RECIPE, SMALL)
    job.run(1)
    old: Collector = job.states["collector"]["collector"]
    new = handed_over(old, old.state_dict(), build)
    assert_equal(rollout(old), rollout(new))
    assert_equal(old.state_dict(), new.state_dict())


def test_a_collector_that_forgot_its_last_observation_goes_elsewhere(
    rehearse: type[Rehearsal], build: type[Build]
) -> None:
    job = rehearse(RECIPE, SMALL)
    job.run(1)
    old: Collector = job.states["collector"]["collector"]
    begin = build_collector(build(SMALL))["collector"].state_dict()["last_observation"]
    new = handed_over(old, {**old.state_dict(), "last_observation": begin}, build)
    one, other = rollout(old), rollout(new)
    assert any(not np.array_equal(one[name], other[name]) for name in ROLLOUT)


def test_no_gradient_outlives_a_train_step(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL)
    job.run(1)
    assert all(parameter.grad is None for parameter in job.states["learner"]["policy"].parameters())


def test_before_an_episode_has_ended_there_is_no_reward_to_log(rehearse: type[Rehearsal]) -> None:
    logged = rehearse(RECIPE, {**SMALL, "num_env_steps": 4, "train_mini_batch_size": 8}).run(1)
    assert "reward" not in logged[0]
    assert "loss" in logged[0]


def test_what_cannot_be_told_is_not_logged(rehearse: type[Rehearsal]) -> None:
    job = rehearse(RECIPE, SMALL)
    job.run(1)
    flat = {**job.artifacts["collect"], "returns": np.zeros((64, 2), dtype=np.float32)}
    metrics = job.states["learner"]["learner"].update(flat, None)
    assert "explained_variance" not in metrics
    assert all(np.isfinite(value) for value in metrics.values())


def test_continuous_actions_and_time_limits_work_too(rehearse: type[Rehearsal]) -> None:
    job = rehearse(
        RECIPE, {**SMALL, "env": "Pendulum-v1", "num_env_steps": 256, "env_params": {"max_episode_steps": 50}}
    )
    logged = job.run(2)
    assert logged[-1]["episode_length"] == 50
    assert fmean(each["reward"] for each in logged) < 0
