"""First come, first served: what a lock queue per pool does.

A job whose train step has ended still holds the lock until its weights are sent, so its propagate goes before all that
wait for the lock.
"""

from __future__ import annotations

from dagrl.model import StepKind
from dagrl.policy import Candidate, Queue, Rank


class FifoPolicy:
    """Starts a propagate, else what has been ready longest; of equals, the job submitted first."""

    def rank(self, candidate: Candidate) -> Rank:
        """A propagate first, then by time of readiness."""
        return (candidate.step.kind is not StepKind.PROPAGATE, candidate.ready_at, candidate.submitted)

    def choose(self, queue: Queue) -> Candidate | None:
        """The candidate that became ready first."""
        return queue.best(1)[0]
