"""The default: a global list scheduler that starts the task with the most work behind it.

Longest remaining path first keeps the longest job moving, and the makespan is at least that job's path. Priorities
come before that; a propagate goes ahead of its equals, because it is short and frees another pool. Two costs count
against a task: its own seconds, for which everybody else waits, and a switch, which everybody on the executor pays.
How much they count, and how much each job does, are weights that `dagrl.planner` finds by simulation.

Nothing starves: a candidate that has waited longer than `PATIENCE` times the longest candidate goes before all that
have not. A task that occupies several executors at once lets others pass while some of them are busy, until it is
overdue: then its executors wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dagrl.model import StepKind
from dagrl.policy import Candidate, Queue, Rank

#: How many times the longest candidate's seconds a task waits before it goes first, whatever its rank.
PATIENCE = 8.0

#: How many of the best are looked at closely.
SHORTLIST = 8


@dataclass(frozen=True, slots=True)
class ListPolicy:
    """Chooses an overdue task, else by priority, then by remaining path less what the task costs everybody."""

    #: Seconds of remaining path that a second of switching outweighs, for each candidate that waits.
    switch_weight: float = 4.0
    #: Seconds of remaining path that a second of the task outweighs.
    task_weight: float = 2.0
    #: How many times a job's remaining path counts; once, unless it stands here.
    job_weights: Mapping[str, float] = field(default_factory=dict)

    def rank(self, candidate: Candidate) -> Rank:
        """By priority and remaining path, a propagate before its equals."""
        opens_pool = candidate.step.kind is StepKind.PROPAGATE
        path = candidate.remaining_seconds * self.job_weights.get(candidate.job.name, 1.0)
        return (-candidate.job.priority, not opens_pool, self.task_weight * candidate.task_seconds - path)

    def choose(self, queue: Queue) -> Candidate | None:
        """The best candidate; every ready task runs within the stated bound."""
        shortlist = queue.best(SHORTLIST)
        longest = max(candidate.task_seconds for candidate in shortlist)
        overdue_since = queue.now - PATIENCE * longest
        everybody = len(queue)

        def keeps_waiting(candidate: Candidate) -> bool:
            return candidate.ready_at >= overdue_since and not queue.can_start(candidate)

        def key(candidate: Candidate) -> Rank:
            if candidate.ready_at < overdue_since:
                return (0, candidate.ready_at, candidate.submitted)
            *before, score = self.rank(candidate)
            cost = self.switch_weight * everybody * queue.switch_seconds(candidate)
            return (1, *before, score + cost, candidate.ready_at, candidate.submitted)

        return min((found for found in shortlist if not keeps_waiting(found)), key=key, default=None)
