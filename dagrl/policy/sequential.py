"""One job after the other: how most people run experiments, and what sharing is compared with."""

from __future__ import annotations

from dagrl.policy import Candidate, Queue, Rank


class SequentialPolicy:
    """Starts only tasks of the first unfinished job."""

    def rank(self, candidate: Candidate) -> Rank:
        """By submission, longest remaining path first within a job."""
        return (candidate.submitted, -candidate.remaining_seconds, candidate.ready_at)

    def choose(self, queue: Queue) -> Candidate | None:
        """The first unfinished job's candidate with the longest remaining path."""
        best = queue.best(1)[0]
        return best if best.job.name == queue.first_job else None
