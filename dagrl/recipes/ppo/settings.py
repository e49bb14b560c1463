"""What a PPO job's `params` may hold: names as the field uses them, where stable-baselines3 has its own."""

from __future__ import annotations

from typing import Annotated

from dagrl.recipes.settings import AtLeastZero, Count, Field, Params, Positive, Settings, Share


class PpoSettings(Settings):
    """Settings of the PPO recipe; the defaults solve CartPole within a minute on one CPU thread."""

    #: Id of a registered gymnasium environment.
    env: str = "CartPole-v1"
    #: Keyword arguments of `gymnasium.make`.
    env_params: Params = Field(default_factory=dict)
    num_envs: Count = 4
    #: Steps of each environment per iteration.
    num_env_steps: Count = 256
    #: A policy class of stable-baselines3, and its keyword arguments.
    policy: str = "MlpPolicy"
    policy_params: Params = Field(default_factory=dict)

    learning_rate: Positive = 1e-3
    gamma: Share = 0.98
    gae_lambda: Share = 0.8
    num_epochs_per_batch: Count = 10
    #: Transitions per optimizer step.
    train_mini_batch_size: Annotated[int, Field(ge=2)] = 256
    clip_ratio: Positive = 0.2
    entropy_coef: AtLeastZero = 0.0
    value_coef: AtLeastZero = 0.5
    max_grad_norm: Positive = 0.5
    normalize_advantages: bool = True
    #: Environment steps over which learning rate and clip ratio fall to 0. None: both stay as they are.
    decay_env_steps: Count | None = None
