"""GRPO: a language model learns a task whose answers can be checked (`recipe: grpo`).

Each prompt is answered `group_size` times, and an answer earns what it scored above its group's mean. Five plain
functions: two build contexts, three are steps. torch and transformers are loaded when a function that computes is
called: reading this recipe, and scoring rewards, need neither.
"""

from __future__ import annotations

import statistics
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from dagrl.recipes.grpo.settings import TRAINED_ON, GrpoSettings
from dagrl.recipes.settings import read_settings
from dagrl.recipes.tasks import load_task
from dagrl.step import BuildContext, StepContext

RECIPE: Mapping[str, Any] = {
    "contexts": {
        "actor": {"build": "dagrl.recipes.grpo:build_actor", "pool": "train"},
        "sampler": {"build": "dagrl.recipes.grpo:build_sampler", "pool": "rollout", "on_evict": "discard"},
    },
    "steps": {
        "sample": {"kind": "sample", "run": "dagrl.recipes.grpo:sample", "context": "sampler"},
        "reward": {"kind": "reward", "run": "dagrl.recipes.grpo:reward", "needs": ["sample"], "pool": "cpu"},
        "train": {
            "kind": "train",
            "run": "dagrl.recipes.grpo:train",
            "needs": ["reward"],
            "context": "actor",
        },
        "propagate": {"kind": "propagate", "needs": ["train"], "source": "actor", "target": "sampler"},
    },
    "params": {"task": "gcd"},
}


def build_actor(build: BuildContext) -> dict[str, Any]:
    """The trained model with its optimizer and schedule, and the reference if `kl_coef` asks for one."""
    from dagrl.recipes.grpo.actor import new_actor
    from dagrl.recipes.grpo.model import load_model

    settings = read_settings(GrpoSettings, build.params)
    return new_actor(load_model(settings, build.device), settings)


def build_sampler(build: BuildContext) -> dict[str, Any]:
    """The model that answers, and the place in the task's entries."""
    from dagrl.recipes.grpo.model import load_model

    settings = read_settings(GrpoSettings, build.params)
    model = load_model(settings, build.device).requires_grad_(requires_grad=False)
    return {"model": model, "cursor": {"seed": build.seed, "position": 0}}


def sample(step: StepContext) -> dict[str, Any]:
    """Write `group_size` completions for each of the next prompts."""
    from dagrl.recipes.grpo.sampler import sample_groups

    return sample_groups(step, read_settings(GrpoSettings, step.params), _state(step))


def reward(step: StepContext) -> dict[str, Any]:
    """Let the task score every completion, and hand on what a train step needs beside the scores.

    Logs their mean as `reward`, and the share of full marks as `solved`.
    """
    settings = read_settings(GrpoSettings, step.params)
    batch = _inputs(step, "completions", "entries")
    judge = load_task(settings.task, 0, settings.task_params)
    entries = [entry for entry in batch["entries"] for _ in range(settings.group_size)]
    rewards = [judge.score_answer(*pair) for pair in zip(batch["completions"], entries, strict=True)]
    step.metrics.log(reward=statistics.fmean(rewards), solved=statistics.fmean(each >= 1 for each in rewards))
    return {"rewards": rewards, **{name: batch[name] for name in TRAINED_ON if name in batch}}


def train(step: StepContext) -> None:
    """Update the actor from scored completions. Logs the means over its optimizer steps."""
    from dagrl.recipes.grpo.actor import mini_batches, new_batch, update

    settings = read_settings(GrpoSettings, step.params)
    actor = _state(step)
    batch = new_batch(_inputs(step, "tokens", "rewards"), settings, actor["model"].device)
    updates = [update(actor, part, settings) for part in mini_batches(batch, settings)]
    step.metrics.log({name: statistics.fmean(each[name] for each in updates) for name in updates[0]})


def _state(step: StepContext) -> dict[str, Any]:
    (state,) = step.contexts.values()
    built: dict[str, Any] = state
    return built


def _inputs(step: StepContext, *names: str) -> Mapping[str, Any]:
    # Looked up by what they hold, so that a spec may name its steps as it likes.
    found = ChainMap(*map(dict, step.inputs.values()))
    for name in names:
        if name not in found:
            needed = ", ".join(step.inputs) or "nothing"
            raise ValueError(f"no input of step {step.step!r} holds {name!r}; its needs are {needed}")
    return found
