"""Dedicated executors: a job that holds a context on an executor has it for itself until it ends.

Jobs settle one after the other, in the order of submission, so that two of them never each hold half of what both need.
Executors without contexts, such as those that score rewards, are shared.
"""

from __future__ import annotations

from dagrl.model import StepKind
from dagrl.policy import Candidate, Queue, Rank


class ExclusivePolicy:
    """Starts a job's tasks only on executors that no other job has contexts on."""

    def rank(self, candidate: Candidate) -> Rank:
        """By submission, then by time of readiness."""
        return (candidate.submitted, candidate.ready_at)

    def choose(self, queue: Queue) -> Candidate | None:
        """The first candidate that may have this executor."""
        fitting = [found for found in queue if self._may_have_it(found, queue)]
        return min(fitting, key=self.rank, default=None)

    def _may_have_it(self, candidate: Candidate, queue: Queue) -> bool:
        if candidate.step.context is None:
            return True
        others = [job for job in queue.jobs_at_home if job != candidate.job.name]
        settled = candidate.step.kind is not StepKind.INIT or candidate.job.name == queue.next_to_settle
        return settled and not others
