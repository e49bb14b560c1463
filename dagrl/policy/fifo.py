"""First come, first served: what a lock queue per pool does."""

from __future__ import annotations

from dagrl.policy import Candidate, Queue


class FifoPolicy:
    """Starts what has been ready longest; of equals, the job submitted first."""

    def order(self, queue: Queue) -> list[Candidate]:
        """The candidates by time of readiness."""
        return sorted(queue.candidates, key=lambda candidate: (candidate.ready_at, candidate.submitted))
