"""One job after the other: how most people run experiments, and what sharing is compared with."""

from __future__ import annotations

from dagrl.policy import Candidate, Queue


class SequentialPolicy:
    """Starts only tasks of the first unfinished job."""

    def order(self, queue: Queue) -> list[Candidate]:
        """The first unfinished job's candidates, longest remaining path first."""
        first = queue.unfinished_jobs[0] if queue.unfinished_jobs else None
        mine = [candidate for candidate in queue.candidates if candidate.job.name == first]
        return sorted(mine, key=lambda candidate: (-candidate.remaining_seconds, candidate.ready_at))
