"""PPO: a policy learns to act in a gymnasium environment (`recipe: ppo`), computed by stable-baselines3.

The library's `learn` is a loop of collecting and training on one object. Here each half is a context of its own, and
the rollout travels between them; the weights come out bit for bit as from `learn`, because collecting draws from
torch's generator and training from numpy's alone. Reading this recipe loads no library: torch comes with the first
build.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagrl.recipes.ppo.settings import PpoSettings
from dagrl.recipes.settings import read_settings
from dagrl.step import BuildContext, StepContext

RECIPE: Mapping[str, Any] = {
    "contexts": {
        "learner": {"build": "dagrl.recipes.ppo:build_learner", "pool": "train"},
        "collector": {"build": "dagrl.recipes.ppo:build_collector", "pool": "rollout", "on_evict": "discard"},
    },
    "steps": {
        "collect": {"kind": "sample", "run": "dagrl.recipes.ppo:collect", "context": "collector"},
        "train": {"kind": "train", "run": "dagrl.recipes.ppo:train", "needs": ["collect"], "context": "learner"},
        "propagate": {"kind": "propagate", "needs": ["train"], "source": "learner", "target": "collector"},
    },
    "params": {"env": "CartPole-v1"},
}


def build_collector(build: BuildContext) -> dict[str, Any]:
    """The policy that acts, its environments, and where they stand."""
    from dagrl.recipes.ppo.algorithm import Collector, new_algorithm

    collector = new_algorithm(Collector, read_settings(PpoSettings, build.params), build.seed, build.device)
    collector.begin()
    return {"policy": collector.policy, "envs": collector.env, "collector": collector}


def build_learner(build: BuildContext) -> dict[str, Any]:
    """The policy that is trained, with its optimizer and counters."""
    from dagrl.recipes.ppo.algorithm import Learner, new_algorithm

    learner = new_algorithm(Learner, read_settings(PpoSettings, build.params), build.seed, build.device)
    return {"policy": learner.policy, "optimizer": learner.policy.optimizer, "learner": learner}


def collect(step: StepContext) -> dict[str, Any]:
    """Act for `num_env_steps` in every environment. Logs the mean return of the last episodes as `reward`."""
    (state,) = step.contexts.values()
    rollout: dict[str, Any] = state["collector"].collect()
    step.metrics.log(state["collector"].episode_metrics())
    return rollout


def train(step: StepContext) -> None:
    """Update the policy from a rollout. Logs what the library logs."""
    (state,) = step.contexts.values()
    (rollout,) = step.inputs.values()
    settings = read_settings(PpoSettings, step.params)
    step.metrics.log(state["learner"].update(rollout, settings.decay_env_steps))
