"""Round robin: jobs take turns on each executor in the order of submission, as within a group of RollMux.

A job that has nothing ready is passed over, so an executor never waits for one job while another could use it.
"""

from __future__ import annotations

from dagrl.policy import Candidate, Queue, Rank


class RoundRobinPolicy:
    """Starts a task of the next job after the one served last."""

    def rank(self, candidate: Candidate) -> Rank:
        """By submission."""
        return (candidate.submitted, candidate.ready_at)

    def choose(self, queue: Queue) -> Candidate | None:
        """The candidate whose turn comes first."""
        return min(queue, key=lambda found: (found.submitted <= queue.last_job, found.submitted, found.ready_at))
