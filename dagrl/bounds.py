"""Lower bounds: how long a workload takes at the very least, whatever the schedule.

Owns bounds of three kinds and says which of them binds. A job cannot end before its longest chain of tasks, a sampler
that may be k versions behind included. A pool of one executor does one thing at a time, so its tasks wait for what
comes before them and are followed by what comes after. A pool of several gives no more than all its executors' time,
and tasks that need more than half of them exclude each other. Only what no schedule avoids is counted: a build, a load
of a new version, and, where contexts leave after each task, their return. It never looks at a schedule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from typing import TypeAlias

from dagrl.graph import JobGraph
from dagrl.model import Cluster, Context, ContextId, Eviction, Job, Step, StepKind, TaskId

#: Expected seconds of one run of a step.
StepSeconds: TypeAlias = Callable[[Job, Step], float]
#: Expected seconds of building a context.
InitSeconds: TypeAlias = Callable[[Job, Context], float]

#: How many sets of tasks, from all to those that start last, are tried on a pool of several executors.
_CUTS = 32


def _nothing(_context: ContextId) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Bound:
    """What no schedule can beat, in seconds, and what sets it: `pool train` or `job gcd`."""

    seconds: float
    binding: str


@dataclass(frozen=True, slots=True)
class Instance:
    """Jobs on a cluster with every duration known, in seconds.

    The jobs must have passed `graph.check` with this cluster. A job that may leave early has no place here.
    """

    jobs: Sequence[Job]
    cluster: Cluster
    #: Of each task, given its job and its step.
    task_seconds: Callable[[Job, TaskId, Step], float]
    arrivals: Mapping[str, float] = field(default_factory=dict)
    #: Of taking a context off its device, of bringing it back, and of loading a new version into it.
    evict_seconds: Callable[[ContextId], float] = _nothing
    restore_seconds: Callable[[ContextId], float] = _nothing
    load_seconds: Callable[[ContextId], float] = _nothing


@dataclass(frozen=True, slots=True)
class _Item:
    """A task as an executor sees it: what must come before it, how long it takes, what must come after it."""

    head: float
    seconds: float
    tail: float
    #: Executors of the pool that it occupies.
    width: int


def lower_bound(jobs: Iterable[Job], cluster: Cluster, seconds: StepSeconds, init_seconds: InitSeconds) -> Bound:
    """The bound of jobs that arrive at the beginning and whose tasks take what is expected; 0 seconds for no jobs."""

    def expected(job: Job, _task: TaskId, step: Step) -> float:
        if step.kind is StepKind.INIT:
            return init_seconds(job, next(context for context in job.contexts if context.name == step.context))
        return seconds(job, step)

    return tightest(Instance(tuple(jobs), cluster, expected))


def tightest(instance: Instance) -> Bound:
    """The largest of all bounds; 0 seconds for no jobs.

    Takes time in proportion to the number of tasks, and holds a few numbers for each.
    """
    bounds: list[Bound] = []
    items: dict[str, list[_Item]] = defaultdict(list)
    for job in instance.jobs:
        path = _Path(job, instance)
        bounds.append(Bound(path.end, f"job {job.name}"))
        for pool, item in path.items():
            items[pool].append(item)
    bounds += [Bound(_pool(found, len(instance.cluster.pool(pool))), f"pool {pool}") for pool, found in items.items()]
    return max(bounds, key=lambda bound: bound.seconds, default=Bound(0.0, "nothing to do"))


class _Path:
    """The longest paths through one job, to and from each of its tasks."""

    def __init__(self, job: Job, instance: Instance) -> None:
        self._job, self._instance, self._graph = job, instance, JobGraph(job)
        later = (TaskId(job.name, iteration, name) for iteration in range(job.iterations) for name in self._graph.order)
        self._tasks = [*self._graph.start_tasks(), *later]
        self._cost = {task: self._before(task) + self._own(task) for task in self._tasks}
        arrival = instance.arrivals.get(job.name, 0.0)
        self._head: dict[TaskId, float] = {}
        for task in self._tasks:
            ends = (self._head[before] + self._cost[before] for before in self._graph.predecessors(task))
            self._head[task] = max(ends, default=arrival)
        self._tail: dict[TaskId, float] = {}
        for task in reversed(self._tasks):
            ends = (self._cost[after] + self._tail[after] for after in self._graph.successors(task))
            self._tail[task] = max(ends, default=0.0)
        #: When the job can have ended, at the earliest.
        self.end = max((self._head[task] + self._cost[task] for task in self._tasks), default=arrival)

    def items(self) -> Iterator[tuple[str, _Item]]:
        """Per pool, what each task asks of it."""
        for task in self._tasks:
            step, after = self._graph.step(task.step), self._after(task)
            tail = max(self._tail[task] - after, 0.0)
            yield step.pool, _Item(self._head[task], self._cost[task] + after, tail, step.slots)
            for pool in set(step.also_pools) - {step.pool}:
                # The others stand by while the task runs; what is done to its context is not their concern.
                before = self._before(task)
                yield pool, _Item(self._head[task] + before, self._cost[task] - before, self._tail[task], 1)

    def _own(self, task: TaskId) -> float:
        return self._instance.task_seconds(self._job, task, self._graph.step(task.step))

    @property
    def _is_eager(self) -> bool:
        return self._instance.cluster.eviction is Eviction.EAGER

    def _before(self, task: TaskId) -> float:
        """Seconds of what must be done to the task's context before it runs."""
        step = self._graph.step(task.step)
        if step.context is None or step.kind is StepKind.INIT:
            return 0.0
        context = ContextId(self._job.name, step.context)
        restoring = self._instance.restore_seconds(context) if self._is_eager else 0.0
        read = self._graph.version_read(task)
        is_new = read is not None and read != self._read_before(task)
        return restoring + (self._instance.load_seconds(context) if is_new else 0.0)

    def _read_before(self, task: TaskId) -> tuple[str, int] | None:
        """What the task before in the same context has read."""
        chain = self._graph.chains[self._graph.step(task.step).context or ""]
        index = chain.index(task.step)
        before = TaskId(task.job, task.iteration - (index == 0), chain[index - 1])
        return self._graph.version_read(before) if before.iteration >= 0 else None

    def _after(self, task: TaskId) -> float:
        """Seconds of what must be done to the task's context after it ran."""
        step = self._graph.step(task.step)
        if not self._is_eager or step.context is None or self._graph.next_in_context(task) is None:
            return 0.0
        return self._instance.evict_seconds(ContextId(self._job.name, step.context))


def _pool(items: Sequence[_Item], executors: int) -> float:
    exclusive = [item for item in items if 2 * item.width > executors]
    alone = _one_at_a_time(exclusive)
    if executors == 1:
        return alone
    by_head = sorted(items, key=lambda item: item.head, reverse=True)
    cuts = sorted({max(len(by_head) * cut // _CUTS, 1) for cut in range(1, _CUTS + 1)})
    return max(alone, *(_shared(by_head[:cut], executors) for cut in cuts))


def _one_at_a_time(items: Sequence[_Item]) -> float:
    """The end of the preemptive schedule that always runs what has the longest tail: no other ends sooner.

    Jackson's preemptive schedule (Carlier 1982): the largest, over all sets of tasks, of the least head, all seconds
    and the least tail.
    """
    waiting = sorted(items, key=lambda item: item.head, reverse=True)
    open_items: list[list[float]] = []
    now, end = 0.0, 0.0
    while waiting or open_items:
        if not open_items:
            now = max(now, waiting[-1].head)
        while waiting and waiting[-1].head <= now:
            item = waiting.pop()
            heappush(open_items, [-item.tail, item.seconds])
        until = waiting[-1].head if waiting else float("inf")
        tail, left = open_items[0]
        if now + left <= until:
            heappop(open_items)
            now += left
            end = max(end, now - tail)
        else:
            open_items[0][1] = left - (until - now)
            now = until
    return end


def _shared(items: Sequence[_Item], executors: int) -> float:
    """The mean over the executors: each waits for the head of its first task, and for the tail after its last."""
    work = sum(item.seconds * item.width for item in items)
    heads = _least(((item.head, item.width) for item in items), executors)
    tails = _least(((item.tail, item.width) for item in items), executors)
    return (heads + work + tails) / executors


def _least(values: Iterable[tuple[float, int]], count: int) -> float:
    """The sum of the `count` least values, each of which counts as often as it is wide."""
    total = 0.0
    for value, width in nsmallest(count, values):
        taken = min(width, count)
        total += taken * value
        count -= taken
    return total
