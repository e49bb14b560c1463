"""First come, first served: what a lock queue per pool does."""

from __future__ import annotations

from dagrl.policy import Candidate, Queue


class FifoPolicy:
    """Starts what has been ready longest; of equals, the job submitted first."""

    def choose(self, queue: Queue) -> Candidate | None:
        """The candidate that became ready first."""
        return min(queue.candidates, key=lambda candidate: (candidate.ready_at, candidate.submitted))
