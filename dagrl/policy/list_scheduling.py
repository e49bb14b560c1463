"""The default: a global list scheduler that starts the task with the most work behind it.

Longest remaining path first keeps the longest job moving, and the makespan is at least that job's path. Priorities
come before that; a propagate goes ahead of its equals, because it is short and frees another pool; a switch that a
task would cost everybody pays, so its seconds count once per candidate. Nothing starves: a candidate that has waited
longer than `PATIENCE` times the longest candidate goes before all that have not. A task that occupies several executors
at once lets others pass while some of them are busy, until it is overdue: then its executors wait for it.
"""

from __future__ import annotations

from dagrl.model import StepKind
from dagrl.policy import Candidate, Queue, Rank

#: How many times the longest candidate's seconds a task waits before it goes first, whatever its rank.
PATIENCE = 8.0

#: How many of the best are looked at closely.
SHORTLIST = 8


class ListPolicy:
    """Chooses an overdue task, else by priority, then by remaining path less what switching costs everybody."""

    def rank(self, candidate: Candidate) -> Rank:
        """By priority and remaining path, a propagate before its equals."""
        opens_pool = candidate.step.kind is StepKind.PROPAGATE
        return (-candidate.job.priority, not opens_pool, -candidate.remaining_seconds)

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
            *before, path = self.rank(candidate)
            cost = everybody * queue.switch_seconds(candidate)
            return (1, *before, path + cost, candidate.ready_at, candidate.submitted)

        return min((found for found in shortlist if not keeps_waiting(found)), key=key, default=None)
