"""Orders in which ready tasks are offered an executor: one small file per policy.

A policy sees only tasks that could start now and says which go first; tasks that it leaves out wait. It keeps no
state and reads no clock, so that equal queues give equal orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dagrl.model import Job, Step, TaskId


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task whose inputs are there and for which an executor is idle."""

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
    """What a policy orders."""

    now: float
    candidates: Sequence[Candidate]
    #: Jobs that have not ended, in the order of submission, whether they have a candidate or not.
    unfinished_jobs: Sequence[str]


class Policy(Protocol):
    """Says which candidates go first."""

    def order(self, queue: Queue) -> list[Candidate]:
        """The candidates to start, best first."""
        ...
