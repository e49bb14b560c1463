"""What a worker must know of a job, as JSON; sent once per worker and job."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dagrl.model import INIT_PREFIX, Job, OnEvict


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """A context: how it is built, and whether its weights come from a propagate and are dropped on eviction."""

    build: str
    discards: bool


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step: its function, or None for a propagate, and its context."""

    run: str | None
    context: str | None


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job, as far as running its tasks is concerned."""

    name: str
    seed: int
    threads: int
    #: JSON, so that each task has params of its own.
    params: str
    contexts: dict[str, ContextFacts]
    steps: dict[str, StepFacts]

    @classmethod
    def of(cls, job: Job) -> JobFacts:
        """The facts of a job."""
        received = {target for step in job.steps for target in step.targets}
        contexts = {
            each.name: ContextFacts(each.build, each.on_evict is OnEvict.DISCARD and each.name in received)
            for each in job.contexts
        }
        steps = {INIT_PREFIX + name: StepFacts(each.build, name) for name, each in contexts.items()}
        steps |= {step.name: StepFacts(step.run, step.context) for step in job.steps}
        return cls(job.name, job.seed, job.threads, json.dumps(dict(job.params)), contexts, steps)

    @classmethod
    def read(cls, data: dict[str, Any]) -> JobFacts:
        """From what `dataclasses.asdict` made of them."""
        contexts = {name: ContextFacts(**each) for name, each in data.pop("contexts").items()}
        steps = {name: StepFacts(**each) for name, each in data.pop("steps").items()}
        return cls(**data, contexts=contexts, steps=steps)
