"""First come, first served: what a lock queue per pool does."""

from __future__ import annotations

from dagrl.policy import Candidate, Queue, Rank


class FifoPolicy:
    """Starts what has been ready longest; of equals, the job submitted first."""

    def rank(self, candidate: Candidate) -> Rank:
        """By time of readiness."""
        return (candidate.ready_at, candidate.submitted)

    def choose(self, queue: Queue) -> Candidate | None:
        """The candidate that became ready first."""
        return queue.best(1)[0]
