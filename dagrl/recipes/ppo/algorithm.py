"""stable-baselines3's PPO in two halves, each with its part of the state that `learn` keeps in one object.

Owns the split and nothing of the algorithm: rollouts are collected and policies updated by the library's own code.
No clock goes into any state, so that two runs of a job end in equal states.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any, SupportsFloat, TypeVar

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv

from dagrl.recipes.ppo.settings import PpoSettings

#: The parts of a rollout buffer that training reads.
ROLLOUT = ("observations", "actions", "values", "log_probs", "advantages", "returns")

#: The library's names for what a train step logs, and ours.
LOGGED = {
    "train/loss": "loss",
    "train/policy_gradient_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/approx_kl": "approx_kl",
    "train/clip_fraction": "clip_fraction",
    "train/explained_variance": "explained_variance",
    "train/learning_rate": "learning_rate",
}


class EpisodeRecorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Tells return and length of every episode that ends, where the library looks for them.

    The library's own Monitor does that too, but it keeps wall-clock times and every episode there ever was.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episode_return = 0.0
        self.episode_length = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self.episode_return, self.episode_length = 0.0, 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act once."""
        observation, reward, terminated, truncated, info = super().step(action)
        self.episode_return += float(reward)
        self.episode_length += 1
        if terminated or truncated:
            info["episode"] = {"r": self.episode_return, "l": self.episode_length}
        return observation, reward, terminated, truncated, info


class Collector(PPO):
    """The half that acts. Policy and environments are saved beside it; its own state is where the episodes stand."""

    _callback: BaseCallback

    def begin(self) -> None:
        """Reset the environments and all counters, as `learn` does before its loop."""
        _, self._callback = self._setup_learn(total_timesteps=0)

    def collect(self) -> dict[str, Any]:
        """Fill a rollout buffer; returns what training reads of it."""
        if self.env is None:
            raise TypeError("a collector needs environments")
        self.collect_rollouts(self.env, self._callback, self.rollout_buffer, self.n_steps)
        rollout = {name: getattr(self.rollout_buffer, name) for name in ROLLOUT}
        return {**rollout, "num_timesteps": self.num_timesteps}

    def episode_metrics(self) -> dict[str, float]:
        """Mean return and length of the last 100 episodes; empty before the first has ended."""
        episodes = self.ep_info_buffer
        if not episodes:
            return {}
        return {
            "reward": fmean(each["r"] for each in episodes),
            "episode_length": fmean(each["l"] for each in episodes),
        }

    def state_dict(self) -> dict[str, Any]:
        """All that the next rollout depends on, besides policy, environments and random generators."""
        return {
            "last_observation": self._last_obs,
            "last_episode_starts": self._last_episode_starts,
            "num_timesteps": self.num_timesteps,
            "episodes": list(self.ep_info_buffer or ()),
            "successes": list(self.ep_success_buffer or ()),
            "callback_calls": self._callback.n_calls,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Stand where `state_dict` was taken."""
        self._last_obs = state["last_observation"]
        self._last_episode_starts = state["last_episode_starts"]
        self.num_timesteps = self._callback.num_timesteps = state["num_timesteps"]
        self.ep_info_buffer = deque(state["episodes"], maxlen=self._stats_window_size)
        self.ep_success_buffer = deque(state["successes"], maxlen=self._stats_window_size)
        self._callback.n_calls = state["callback_calls"]


class Learner(PPO):
    """The half that is trained. Policy and optimizer are saved beside it; its own state is counters."""

    def update(self, rollout: Mapping[str, Any], decay_env_steps: int | None) -> dict[str, float]:
        """Train on a rollout. Returns what the library logged, by our names."""
        self.rollout_buffer.reset()
        for name in ROLLOUT:
            setattr(self.rollout_buffer, name, rollout[name])
        self.rollout_buffer.pos, self.rollout_buffer.full = self.n_steps, True
        self.num_timesteps = rollout["num_timesteps"]
        if decay_env_steps is not None:
            self._update_current_progress_remaining(self.num_timesteps, decay_env_steps)
        self.train()
        self.policy.optimizer.zero_grad(set_to_none=True)
        logged = dict(self.logger.name_to_value)
        self.logger.dump()
        metrics = {ours: float(logged[theirs]) for theirs, ours in LOGGED.items()}
        metrics["entropy"] = -float(logged["train/entropy_loss"])
        # How much of the returns is explained cannot be said when they are all the same.
        return {name: value for name, value in metrics.items() if math.isfinite(value)}

    def state_dict(self) -> dict[str, Any]:
        """The counters that schedules and logs depend on."""
        return {
            "num_timesteps": self.num_timesteps,
            "num_updates": self._n_updates,
            "progress_remaining": self._current_progress_remaining,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Stand where `state_dict` was taken."""
        self.num_timesteps = state["num_timesteps"]
        self._n_updates = state["num_updates"]
        self._current_progress_remaining = state["progress_remaining"]


Half = TypeVar("Half", Collector, Learner)


def new_algorithm(half: type[Half], settings: PpoSettings, seed: int, device: str) -> Half:
    """A half of PPO. Both halves of a job are built alike, so that their policies begin with equal weights."""
    algorithm = half(
        settings.policy,
        DummyVecEnv([lambda: _environment(settings)] * settings.num_envs),
        learning_rate=_schedule(settings, settings.learning_rate),
        n_steps=settings.num_env_steps,
        batch_size=settings.train_mini_batch_size,
        n_epochs=settings.num_epochs_per_batch,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=_schedule(settings, settings.clip_ratio),
        normalize_advantage=settings.normalize_advantages,
        ent_coef=settings.entropy_coef,
        vf_coef=settings.value_coef,
        max_grad_norm=settings.max_grad_norm,
        policy_kwargs=dict(settings.policy_params),
        # numpy's global generator takes 32 bits.
        seed=seed % 2**32,
        device=device,
    )
    algorithm.set_logger(Logger(folder=None, output_formats=[]))
    return algorithm


def _environment(settings: PpoSettings) -> EpisodeRecorder:
    return EpisodeRecorder(gymnasium.make(settings.env, **settings.env_params))


def _schedule(settings: PpoSettings, start: float) -> float | Callable[[float], float]:
    if settings.decay_env_steps is None:
        return start
    # The last rollout may reach past the end, where the library would count below 0.
    return lambda progress_remaining: start * max(progress_remaining, 0.0)
