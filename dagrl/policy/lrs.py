"""Least recently served: the job that was given an executor the longest time ago goes first, as in OpenRL's slicer."""

from __future__ import annotations

from dagrl.policy import Candidate, Queue, Rank


class LrsPolicy:
    """Starts a task of the job whose last start lies furthest back; of equals, the job submitted first."""

    def rank(self, candidate: Candidate) -> Rank:
        """By the job's last start."""
        return (candidate.served_at, candidate.submitted)

    def choose(self, queue: Queue) -> Candidate | None:
        """The candidate of the job served least recently."""
        return queue.best(1)[0]
