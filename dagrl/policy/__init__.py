"""What an idle executor does next: one small file per policy.

A policy is shown the tasks that could start on one executor now, and chooses one. Choosing none leaves the executor
idle until the next event. A policy keeps no state and reads no clock, so that equal queues give equal choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dagrl.model import Job, Step, TaskId


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that the executor could start."""

    task: TaskId
    step: Step
    job: Job
    #: Place of the job in the order of submission.
    submitted: int
    #: Seconds since the run began when it became ready.
    ready_at: float
    #: Seconds of work on the longest path from here to the end of the job.
    remaining_seconds: float
    #: Expected seconds of the task itself.
    task_seconds: float
    #: Expected seconds of switching before it could start.
    switch_seconds: float


@dataclass(frozen=True, slots=True)
class Queue:
    """What a policy chooses from, for one idle executor: at least one candidate."""

    now: float
    candidates: Sequence[Candidate]
    #: Jobs that have not ended, in the order of submission, whether they have a candidate or not.
    unfinished_jobs: Sequence[str]


class Policy(Protocol):
    """Chooses what an executor does next."""

    def choose(self, queue: Queue) -> Candidate | None:
        """The best candidate; None to wait for the next event."""
        ...
