"""One job after the other: how most people run experiments, and what sharing is compared with."""

from __future__ import annotations

from dagrl.policy import Candidate, Queue


class SequentialPolicy:
    """Starts only tasks of the first unfinished job."""

    def choose(self, queue: Queue) -> Candidate | None:
        """The first unfinished job's candidate with the longest remaining path."""
        mine = [candidate for candidate in queue.candidates if candidate.job.name == queue.unfinished_jobs[0]]
        return min(mine, key=lambda candidate: (-candidate.remaining_seconds, candidate.ready_at), default=None)
