"""A job's DAG: what is wrong with it, and which task waits for which.

Owns the edges between tasks, those declared in `needs` and those that follow from what tasks share. It unrolls
nothing: a `JobGraph` holds edges between steps with an iteration offset, and answers for any task. networkx is used
here and nowhere else.

The edges that nobody declares:

* tasks of one context run in one fixed order, because they share its state and its random numbers;
* a step in a context that receives weights waits for the propagate that publishes the version it must read:
  iteration i reads version i - max_staleness, whatever newer one exists, so results never depend on the schedule;
* a root step that reads no weights waits for the end of iteration i - 1 - max_staleness, so that nothing runs away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import networkx as nx

from dagrl.model import INIT_PREFIX, START, Cluster, Context, Job, Need, Step, StepKind, TaskId


@dataclass(frozen=True, slots=True)
class GraphFault:
    """One thing wrong with a job: the key's path in the spec, and a message."""

    path: tuple[str | int, ...]
    message: str


def check(job: Job, cluster: Cluster | None = None) -> list[GraphFault]:
    """All that is wrong with a job whose names are known to exist; with a cluster, also what cannot run there."""
    faults = _cycles(job) or [*_unused(job), *_receivers(job), *_readers(job)]
    if cluster is not None:
        faults += [*_pools(job, cluster), *_memory(job, cluster)]
    return faults


def _within_iteration(job: Job) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(step.name for step in job.steps)
    graph.add_edges_from((need.step, step.name) for step in job.steps for need in step.needs if need.offset == 0)
    return graph


def _cycles(job: Job) -> list[GraphFault]:
    try:
        edges = nx.find_cycle(_within_iteration(job))
    except nx.NetworkXNoCycle:
        return []
    ring = " -> ".join([edges[0][0], *(edge[1] for edge in edges)])
    step = next(step for step in job.steps if step.name == edges[0][1])
    index = next(i for i, need in enumerate(step.needs) if need == Need(edges[0][0]))
    message = f"steps need each other in a circle: {ring}; for the iteration before, write '{edges[0][0]}@-1'"
    return [GraphFault(("steps", step.name, "needs", index), message)]


def _unused(job: Job) -> Iterable[GraphFault]:
    used = {step.context for step in job.steps}
    for context in job.contexts:
        if context.name not in used:
            yield GraphFault(
                ("contexts", context.name), "no step runs in this context; remove it, or name it in a step"
            )


def _receivers(job: Job) -> Iterable[GraphFault]:
    first: dict[str, str] = {}
    for step in job.steps:
        for target in step.targets:
            if target == step.context:
                yield GraphFault(("steps", step.name, "target"), f"{target!r} is the source as well")
            elif first.setdefault(target, step.name) != step.name:
                yield GraphFault(
                    ("steps", step.name, "target"),
                    f"context {target!r} already receives weights from step {first[target]!r}",
                )
    for context in job.contexts:
        if context.on_evict == "discard" and context.name not in first:
            yield GraphFault(
                ("contexts", context.name, "on_evict"),
                "only a context that a propagate step targets can discard its weights; nothing would bring them back",
            )


def _readers(job: Job) -> Iterable[GraphFault]:
    if job.max_staleness == 0:
        return
    graph = _within_iteration(job)
    for propagate in (step for step in job.steps if step.kind is StepKind.PROPAGATE):
        later = nx.descendants(graph, propagate.name)
        for step in job.steps:
            if step.name in later and step.context in propagate.targets:
                yield GraphFault(
                    ("steps", step.name, "needs"),
                    f"reads the weights of {propagate.name!r} of its own iteration, but max_staleness is "
                    f"{job.max_staleness} and other steps of context {step.context!r} read older ones; "
                    f"give it a context of its own, or max_staleness 0",
                )


def _pools(job: Job, cluster: Cluster) -> Iterable[GraphFault]:
    known = dict.fromkeys(executor.pool for executor in cluster.executors)
    owners = [("contexts", context.name, context.pool) for context in job.contexts]
    owners += [("steps", step.name, step.pool) for step in job.steps if step.context is None]
    for section, name, pool in owners:
        if pool not in known:
            yield GraphFault(
                (section, name, "pool"), f"the cluster has no pool {pool!r}; it has {', '.join(map(repr, known))}"
            )


def _memory(job: Job, cluster: Cluster) -> Iterable[GraphFault]:
    for context in job.contexts:
        budgets = [executor.memory_bytes for executor in cluster.pool(context.pool)]
        limits = [budget for budget in budgets if budget is not None]
        if context.memory_bytes is not None and budgets and len(limits) == len(budgets):
            largest = max(limits)
            if context.memory_bytes > largest:
                yield GraphFault(
                    ("contexts", context.name, "memory"),
                    f"needs {context.memory_bytes} bytes, but the largest executor of pool {context.pool!r} "
                    f"has {largest}; it could never run",
                )


def init_step(context: Context) -> Step:
    """The step that builds a context: scheduled like any other."""
    return Step(INIT_PREFIX + context.name, StepKind.INIT, context.pool, run=context.build, context=context.name)


class JobGraph:
    """The edges between a job's tasks, as edges between its steps with an iteration offset.

    The job must have passed `check`.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.steps: dict[str, Step] = {step.name: step for step in job.steps}
        self.contexts: dict[str, Context] = {context.name: context for context in job.contexts}
        self.inits: dict[str, Step] = {step.name: step for step in map(init_step, job.contexts)}
        within = _within_iteration(job)
        declared = {step.name: index for index, step in enumerate(job.steps)}
        #: Step names in the one order in which an iteration could run on a single executor.
        self.order: tuple[str, ...] = tuple(nx.lexicographical_topological_sort(within, key=declared.__getitem__))
        #: Per context, the steps that use it, in the order they must run.
        self.chains: dict[str, tuple[str, ...]] = {
            name: tuple(step for step in self.order if self.steps[step].context == name) for name in self.contexts
        }
        #: Per step that reads propagated weights: which propagate, and how many iterations away.
        self.reads: dict[str, Need] = dict(self._weights_read(within))
        self._needs: dict[str, tuple[Need, ...]] = {name: tuple(self._edges(name, within)) for name in self.order}
        #: From this iteration on every edge leads to a task of a real iteration.
        self._depth = max((-need.offset for needs in self._needs.values() for need in needs), default=0)
        self._successors = self._invert()
        self._started_by = self._after_start()

    def step(self, name: str) -> Step:
        """The step of that name, `init.` steps included. Raises KeyError if there is none."""
        return self.inits[name] if name.startswith(INIT_PREFIX) else self.steps[name]

    def start_tasks(self) -> list[TaskId]:
        """Everything that happens before iteration 0: builds, and the publication of the first weights."""
        names = [*self.inits, *(name for name in self.order if self.steps[name].kind is StepKind.PROPAGATE)]
        return [TaskId(self.job.name, START, name) for name in names]

    def predecessors(self, task: TaskId) -> set[TaskId]:
        """The tasks that must have committed before this one may start."""
        if task.iteration == START:
            step = self.step(task.step)
            return (
                {self._start(INIT_PREFIX + step.context)} if step.kind is not StepKind.INIT and step.context else set()
            )
        found = set()
        for need in self._needs[task.step]:
            iteration = task.iteration + need.offset
            if iteration >= 0:
                found.add(TaskId(self.job.name, iteration, need.step))
            elif self.steps[need.step].kind is StepKind.PROPAGATE:
                found.add(self._start(need.step))
        return found | self._context_start(task)

    def predecessor_count(self, task: TaskId) -> int:
        """How many tasks must have committed before this one may start."""
        if task.iteration >= self._depth:
            return len(self._needs[task.step])
        return len(self.predecessors(task))

    def successors(self, task: TaskId) -> list[TaskId]:
        """The tasks that wait for this one."""
        if task.iteration == START:
            return self._started_by.get(task.step, [])
        following = ((task.iteration + need.offset, need.step) for need in self._successors[task.step])
        return [TaskId(self.job.name, i, step) for i, step in following if i < self.job.iterations]

    def version_read(self, task: TaskId) -> tuple[str, int] | None:
        """Which propagate's weights, in which version, the task's context must hold; None if it reads none."""
        need = self.reads.get(task.step)
        if need is None or task.iteration == START:
            return None
        return need.step, max(task.iteration + need.offset + 1, 0)

    def closes_iteration(self, task: TaskId) -> bool:
        """Whether the task is the last one of its iteration in its context."""
        context = self.step(task.step).context
        return context is not None and task.iteration != START and self.chains[context][-1] == task.step

    def next_in_context(self, task: TaskId) -> TaskId | None:
        """The task that uses the same context next; None after the last one or without a context."""
        context = self.step(task.step).context
        chain = self.chains[context] if context is not None else ()
        if not chain:
            return None
        if task.iteration == START:
            return TaskId(self.job.name, 0, chain[0])
        index = chain.index(task.step) + 1
        iteration, index = (task.iteration, index) if index < len(chain) else (task.iteration + 1, 0)
        return TaskId(self.job.name, iteration, chain[index]) if iteration < self.job.iterations else None

    def upward_ranks(self, seconds: Callable[[Step], float]) -> dict[str, float]:
        """Per step, the longest path through it to the end of its iteration, its own seconds included.

        The upward rank of HEFT (Topcuoglu, Hariri, Wu 2002), with one pool per step and no transfer cost.
        """
        ranks: dict[str, float] = {}
        for name in reversed(self.order):
            later = [ranks[need.step] for need in self._successors[name] if need.offset == 0]
            ranks[name] = seconds(self.steps[name]) + max(later, default=0.0)
        return ranks

    def _start(self, step: str) -> TaskId:
        return TaskId(self.job.name, START, step)

    def _weights_read(self, within: nx.DiGraph[str]) -> Iterable[tuple[str, Need]]:
        for propagate in (step for step in self.job.steps if step.kind is StepKind.PROPAGATE):
            later = nx.descendants(within, propagate.name)
            for step in self.job.steps:
                if step.context in propagate.targets:
                    offset = 0 if step.name in later else -1 - self.job.max_staleness
                    yield step.name, Need(propagate.name, offset)

    def _edges(self, name: str, within: nx.DiGraph[str]) -> Iterable[Need]:
        step = self.steps[name]
        edges = dict.fromkeys(step.needs)
        if name in self.reads:
            edges[self.reads[name]] = None
        elif within.in_degree(name) == 0:
            edges.update(
                (Need(sink, -1 - self.job.max_staleness), None) for sink in within if not within.out_degree(sink)
            )
        if step.context is not None:
            chain = self.chains[step.context]
            index = chain.index(name)
            edges[Need(chain[index - 1], 0 if index else -1)] = None
        return edges

    def _context_start(self, task: TaskId) -> set[TaskId]:
        """What the first task of a context waits for: its build, or the first publication, which reads it."""
        context = self.steps[task.step].context
        if context is None or task.iteration != 0 or self.chains[context][0] != task.step:
            return set()
        publications = {
            self._start(step.name)
            for step in self.job.steps
            if step.kind is StepKind.PROPAGATE and step.context == context
        }
        return publications or {self._start(INIT_PREFIX + context)}

    def _invert(self) -> Mapping[str, list[Need]]:
        successors: dict[str, list[Need]] = {name: [] for name in self.order}
        for name, needs in self._needs.items():
            for need in needs:
                successors[need.step].append(Need(name, -need.offset))
        return successors

    def _after_start(self) -> Mapping[str, list[TaskId]]:
        """Per START task, who waits for it: only the first iterations can."""
        waiting: dict[str, list[TaskId]] = defaultdict(list)
        first = [
            TaskId(self.job.name, iteration, name)
            for iteration in range(min(max(self._depth, 1), self.job.iterations))
            for name in self.order
        ]
        for task in [*self.start_tasks(), *first]:
            for predecessor in self.predecessors(task):
                if predecessor.iteration == START:
                    waiting[predecessor.step].append(task)
        return waiting
