"""What the same jobs would take otherwise: one after the other, alone, and at the very least.

Simulates with given durations; every figure is seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from dagrl.bounds import lower_bound
from dagrl.estimates import Estimates
from dagrl.graph import init_step
from dagrl.model import Cluster, Job
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.policy.sequential import SequentialPolicy
from dagrl.simulate import makespan, simulate
from dagrl.timeline import Comparison, Timeline


def compare(jobs: Sequence[Job], cluster: Cluster, expected: Estimates) -> Comparison:
    """The jobs' sequential makespan, lower bound and times alone, if everything took what is expected."""
    bound = lower_bound(
        jobs,
        cluster,
        lambda job, step: expected.task_seconds(job.name, step),
        lambda job, context: expected.task_seconds(job.name, init_step(context)),
    )
    return Comparison(
        sequential_seconds=makespan(simulate(jobs, cluster, SequentialPolicy(), expected)),
        lower_bound_seconds=bound.seconds,
        binding_bound=bound.binding,
        alone_seconds_per_iteration={job.name: _alone(job, cluster, expected) for job in jobs},
    )


def _alone(job: Job, cluster: Cluster, expected: Estimates) -> float:
    timeline = Timeline.of(simulate([job], cluster, ListPolicy(), expected))
    return timeline.jobs[job.name].seconds_per_iteration or 0.0
