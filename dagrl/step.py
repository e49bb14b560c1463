"""What a step's function is given, and what it may return: the contract between dagrl and the user's own code.

A step is a plain function of one `StepContext`. It returns nothing or an artifact: a mapping of names to JSON values,
numpy arrays or torch tensors (nested lists and mappings of these are fine). The next step finds it under the step's
name in `inputs`. A context's `build` function takes a `BuildContext` and returns the context's state.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Protocol

from dagrl.model import JsonValue


class StepCancelledError(Exception):
    """Raised by `StepContext.check_cancelled` in a step that was asked to stop."""


class Metrics(Protocol):
    """A step's numbers: rewards, losses, lengths. They end up in the journal, one row per name and task."""

    def log(self, values: Mapping[str, float] | None = None, /, **more: float) -> None:
        """Record named numbers for this task; a name logged twice keeps its last value.

        Raises TypeError when a value is not a number.
        """
        ...


class BuildContext(Protocol):
    """What a context's `build` function is given. Global random generators are seeded with `seed` before the call."""

    #: Name of the job.
    job: str
    #: Name of the context being built.
    context: str
    params: Mapping[str, JsonValue]
    #: The same for every context of a job, so that equal code builds equal weights.
    seed: int
    #: Device string of the executor: `cpu`, `cuda:0`, ...
    device: str


class StepContext(Protocol):
    """What a step's function is given."""

    job: str
    step: str
    #: Counts from 0.
    iteration: int
    params: Mapping[str, JsonValue]
    device: str
    #: What the step's context was built as, by the context's name; empty for a step without one.
    contexts: Mapping[str, Any]
    #: Artifacts by need as the spec writes it: `sample`, `train@-1`. An `@-1` need is missing in iteration 0.
    inputs: Mapping[str, Mapping[str, Any]]
    metrics: Metrics
    #: Differs for every task of a job and is the same in every run of it.
    seed: int
    #: A generator of the task's own, seeded with `seed`.
    rng: random.Random
    #: Policy version of the weights that the context holds: 0 before the first train step; None without weights.
    version: int | None

    @property
    def cancelled(self) -> bool:
        """Whether this attempt was asked to stop: long steps should look now and then, and return early."""
        ...

    def check_cancelled(self) -> None:
        """Raise StepCancelledError if this attempt was asked to stop."""
        ...
