"""The small contract between the engine and whatever carries decisions out.

A backend is found by the entry point group `dagrl.executors`; the engine makes one per kind and run, asks it for
executors and hands them orders. `carry_out` returns the next event and never calls back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dagrl.events import Event, Operation
from dagrl.model import ArtifactRef, ExecutorSpec, Job
from dagrl.plugins import load_plugin

#: Set by a process that carries out steps to its own number, so that a script it imports cannot start a run in it.
WORKER_VARIABLE = "DAGRL_WORKER"


@dataclass(frozen=True, slots=True)
class Order:
    """A decision with what is needed to carry it out."""

    decision: Operation
    job: Job
    #: Stored artifacts of a Run's needs, by need as the spec writes it: `sample`, `train@-1`.
    inputs: Mapping[str, ArtifactRef] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunClock:
    """Seconds since the run began, on the machine's monotonic clock, which all its processes share."""

    #: `time.monotonic()` when the run began.
    origin: float

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.origin


class Executor(Protocol):
    """Carries out one operation after the other, in the order they were handed over."""

    async def carry_out(self, order: Order) -> Event | None:
        """Do it and tell what came of it; None when there is nothing to tell.

        A lost process is told once, as ExecutorLost; operations that were queued behind the culprit tell nothing.
        """
        ...

    async def close(self, *, kill: bool) -> None:
        """End it: after what runs has ended, or at once."""
        ...


class ExecutorBackend(Protocol):
    """Makes executors of one kind for one run."""

    async def start(self, spec: ExecutorSpec) -> Executor:
        """Start an executor. Raises ExecutorError if that cannot be done."""
        ...

    async def close(self) -> None:
        """Free what the executors shared. They are closed by then."""
        ...


#: What an entry point of `dagrl.executors` refers to: `(run directory, clock) -> backend`.
BackendFactory = Callable[[Path, RunClock], ExecutorBackend]


def find_backend(kind: str) -> BackendFactory:
    """The installed backend of that kind. Raises UsageError naming what is installed."""
    factory: BackendFactory = load_plugin("dagrl.executors", kind, "executor kind")
    return factory
