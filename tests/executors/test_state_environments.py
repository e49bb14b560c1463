"""Environments: wrapper chains, spaces and vectors of them go on exactly where they were, also when built anew."""

from __future__ import annotations

import socket
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FrameStackObservation, NormalizeObservation, RecordEpisodeStatistics, TransformReward
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dagrl_local.state import RestoreError, Scan, UnsupportedStateError, capture, digest, restore


class Board:
    """A plain object inside an environment."""

    def __init__(self) -> None:
        self.cells = [0, 0, 0]
        self.neighbour: Board | None = None


class Walk(gymnasium.Env[Any, Any]):
    """A user's own environment, with helpers of its own."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Dict({"at": gymnasium.spaces.Box(-9, 9, (1,))})
        self.action_space = gymnasium.spaces.Discrete(3)
        self.board: Board | None = None
        self.on_end = self.reset

    def reset(self, **settings: Any) -> Any:
        super().reset(**settings)
        self.board = Board()
        self.board.neighbour = self.board
        return {"at": np.zeros(1, np.float32)}, {}

    def step(self, action: Any) -> Any:
        assert self.board is not None
        self.board.cells[int(action)] += int(self.np_random.integers(5))
        return {"at": np.array([sum(self.board.cells)], np.float32)}, 1.0, False, False, {}


def wrapped() -> Any:
    env: Any = gymnasium.make("CartPole-v1", max_episode_steps=30)
    env = RecordEpisodeStatistics(NormalizeObservation(FrameStackObservation(env, 2)))
    return TransformReward(env, lambda reward: 2.0 * float(reward))


def play(env: Any, steps: int) -> list[Any]:
    seen = []
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append((np.asarray(list(observation.values()) if isinstance(observation, dict) else observation), reward))
        if terminated or truncated:
            seen.append((env.reset()[0], 0))
    return [(np.asarray(array).tobytes(), reward) for array, reward in seen]


@pytest.mark.parametrize("make", [wrapped, Walk])
def test_an_environment_goes_on_where_it_was_in_one_built_anew(make: Any) -> None:
    first, second = make(), make()
    first.reset(seed=3)
    first.action_space.seed(4)
    play(first, 70)
    restore({"env": second}, capture({"env": first}))
    assert digest(Scan(second)) == digest(Scan(first))
    assert play(second, 70) == play(first, 70)
    assert digest(Scan(second)) == digest(Scan(first))


def test_an_environment_restored_in_place_keeps_its_objects() -> None:
    env = Walk()
    env.reset(seed=1)
    tree, board, generator = capture(env), env.board, env.np_random
    before = play(env, 5)
    restore(env, tree)
    assert board is not None
    assert env.board is board is board.neighbour
    assert env.np_random is generator
    assert play(env, 5) == before


def vector(seed: int) -> Any:
    envs = VecNormalize(make_vec_env("CartPole-v1", n_envs=3, seed=seed))
    envs.reset()
    return envs


def steps(envs: Any, count: int) -> list[Any]:
    seen = []
    for _ in range(count):
        actions = np.array([each.action_space.sample() for each in envs.envs])
        observations, rewards, dones, _ = envs.step(actions)
        seen.append((observations.tobytes(), rewards.tobytes(), dones.tolist()))
    return seen


def test_a_vector_of_environments_goes_on_where_it_was() -> None:
    first, second = vector(1), vector(2)
    steps(first, 40)
    restore(second, capture(first))
    assert steps(second, 40) == steps(first, 40)
    assert digest(Scan(second)) == digest(Scan(first))


def test_wall_clock_times_are_no_part_of_a_digest() -> None:
    first, second = vector(1), vector(1)
    for envs in (first, second):
        for each in envs.envs:
            each.action_space.seed(0)
    assert steps(first, 60) == steps(second, 60)
    assert first.envs[0].t_start != second.envs[0].t_start
    assert digest(Scan(first)) == digest(Scan(second))


def test_what_an_environment_cannot_be_asked_is_named() -> None:
    env = Walk()
    env.reset(seed=0)
    with socket.socket() as connection:
        env.board.cells.append(connection)  # type: ignore[union-attr, arg-type]
        with pytest.raises(UnsupportedStateError, match=r"env.board.cells.3: a socket.socket cannot be saved"):
            capture({"env": env})


def test_plain_objects_outside_an_environment_need_a_state_dict() -> None:
    with pytest.raises(UnsupportedStateError, match=r"board: a .*Board cannot be saved"):
        capture({"board": Board(), "env": Walk()})


def test_another_environment_is_refused() -> None:
    with pytest.raises(RestoreError, match=r"env: the saved state holds a .*:Walk here, its build function made a .*"):
        restore({"env": wrapped()}, capture({"env": Walk()}))
    envs = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])
    with pytest.raises(RestoreError, match=r"envs\.0"):
        restore(DummyVecEnv([lambda: gymnasium.make("Acrobot-v1")]), capture(envs))
