"""What an idle executor does next: one small file per policy.

A policy ranks a task once, when it becomes ready, and is asked for a choice whenever an executor is idle. Choosing
nothing leaves the executor idle until the next event that concerns it. A policy keeps no state and reads no clock, so
that equal queues give equal choices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from dagrl.model import Job, Step, TaskId

#: Where a task stands among those that are ready at the same place; smaller is better.
Rank: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that is ready."""

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
    #: When a task of the job last started; -1 before the first.
    served_at: float


class Queue(Protocol):
    """What one idle executor could do now: at least one candidate."""

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        ...

    @property
    def last_job(self) -> int:
        """Place in the order of submission of the job that this executor served last; -1 before the first."""
        ...

    @property
    def first_job(self) -> str:
        """The unfinished job that was submitted first, whether it has a candidate or not."""
        ...

    @property
    def jobs_at_home(self) -> Collection[str]:
        """The jobs that have contexts on this executor."""
        ...

    @property
    def next_to_settle(self) -> str | None:
        """The unfinished job submitted first that has a context without a home."""
        ...

    def __len__(self) -> int:
        """How many candidates there are."""
        ...

    def __iter__(self) -> Iterator[Candidate]:
        """All candidates, in no order that means anything."""
        ...

    def best(self, count: int) -> list[Candidate]:
        """The `count` best by rank, best first, and the one that has been ready longest."""
        ...

    def can_start(self, candidate: Candidate) -> bool:
        """Whether every executor that it occupies at once is idle; choosing one that cannot start waits for it."""
        ...

    def switch_seconds(self, candidate: Candidate) -> float:
        """Expected seconds of saving and restoring before the candidate could start."""
        ...


class Policy(Protocol):
    """Ranks tasks, and chooses what an executor does next."""

    def rank(self, candidate: Candidate) -> Rank:
        """Where the candidate stands among those ready at the same place, for as long as it is ready."""
        ...

    def choose(self, queue: Queue) -> Candidate | None:
        """The candidate to start; None to leave the executor idle."""
        ...
