"""Lower bounds: how long a workload takes at the very least, whatever the schedule.

Owns two classic bounds and says which of them binds: a pool cannot do its work faster than with all its executors
always busy, and a job cannot end before the longest chain of its own tasks. Switching is left out, so a bound stays
one when everything fits in memory. It never looks at a schedule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from dagrl.graph import JobGraph
from dagrl.model import Cluster, Context, Job, Step, StepKind, TaskId

#: Expected seconds of one run of a step.
StepSeconds: TypeAlias = Callable[[Job, Step], float]
#: Expected seconds of building a context.
InitSeconds: TypeAlias = Callable[[Job, Context], float]


@dataclass(frozen=True, slots=True)
class Bound:
    """What no schedule can beat, in seconds, and what sets it: `pool train` or `job gcd`."""

    seconds: float
    binding: str


def lower_bound(jobs: Iterable[Job], cluster: Cluster, seconds: StepSeconds, init_seconds: InitSeconds) -> Bound:
    """The largest of all pools' work and all jobs' critical paths; 0 seconds for no jobs.

    The jobs must have passed `graph.check` with this cluster.
    """
    jobs = tuple(jobs)
    work: dict[str, float] = defaultdict(float)
    for job in jobs:
        for pool, amount in pool_work(job, seconds, init_seconds).items():
            work[pool] += amount
    bounds = [Bound(amount / len(cluster.pool(pool)), f"pool {pool}") for pool, amount in work.items()]
    bounds += [Bound(critical_path(job, seconds, init_seconds), f"job {job.name}") for job in jobs]
    return max(bounds, key=lambda bound: bound.seconds, default=Bound(0.0, "nothing to do"))


def pool_work(job: Job, seconds: StepSeconds, init_seconds: InitSeconds) -> dict[str, float]:
    """Seconds of work that a job brings to each pool: builds, first publications and all iterations."""
    work: dict[str, float] = defaultdict(float)
    for context in job.contexts:
        work[context.pool] += init_seconds(job, context)
    for step in job.steps:
        runs = job.iterations + (step.kind is StepKind.PROPAGATE)
        work[step.pool] += runs * seconds(job, step)
    return work


def critical_path(job: Job, seconds: StepSeconds, init_seconds: InitSeconds) -> float:
    """Seconds of the longest chain of tasks, each waiting for the one before it.

    Takes time in proportion to the job's tasks and holds all their end times.
    """
    graph = JobGraph(job)
    cost = {name: seconds(job, step) for name, step in graph.steps.items()}
    cost |= {name: init_seconds(job, graph.contexts[step.context or ""]) for name, step in graph.inits.items()}
    ends: dict[TaskId, float] = {}
    later = (TaskId(job.name, iteration, name) for iteration in range(job.iterations) for name in graph.order)
    for task in [*graph.start_tasks(), *later]:
        begin = max((ends[predecessor] for predecessor in graph.predecessors(task)), default=0.0)
        ends[task] = begin + cost[task.step]
    return max(ends.values(), default=0.0)
