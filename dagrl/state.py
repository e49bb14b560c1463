"""What the scheduler remembers: jobs with their open tasks, contexts and where they are, executors.

Mutable data with small steps that keep it sound, and no decision in it: `scheduler` decides, this module counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dagrl.events import TaskFinished
from dagrl.graph import JobGraph
from dagrl.model import START, Context, ContextId, ExecutorSpec, Job, JobStatus, OnEvict, Step, TaskId


@dataclass(slots=True, eq=False)
class ContextState:
    """A context: where it lives, whether it is resident, and whether its host copy is current."""

    id: ContextId
    spec: Context
    #: The task that uses it next; None after its last one.
    next_task: TaskId | None
    #: The executor whose process holds it; None before its build and after its end.
    home: str | None = None
    #: Counted against the device budget; follows decisions, not reports.
    resident: bool = False
    #: Changed since its host copy was made.
    dirty: bool = False
    #: A host copy exists that survives the process.
    has_copy: bool = False
    #: The version of the weights it holds; None when it holds none of a propagate's.
    version: int | None = None
    seen_bytes: int | None = None

    @property
    def bytes(self) -> int | None:
        """Device bytes to reckon with: the most that was declared or seen; None when nobody knows."""
        known = [size for size in (self.spec.memory_bytes, self.seen_bytes) if size is not None]
        return max(known, default=None)

    @property
    def recoverable(self) -> bool:
        """Whether it could be brought back if its process ended now."""
        return self.has_copy and not self.dirty

    @property
    def discards(self) -> bool:
        """Whether eviction drops its weights, to be loaded again."""
        return self.spec.on_evict is OnEvict.DISCARD

    def task_done(self, event: TaskFinished, following: TaskId | None, *, dirties: bool) -> None:
        """Take note of a finished task of this context."""
        self.dirty = self.dirty or dirties
        self.next_task = following
        if event.resident_bytes is not None:
            self.seen_bytes = max(event.resident_bytes, self.seen_bytes or 0)


@dataclass(slots=True, eq=False)
class ExecutorState:
    """An executor: what it holds, and how many reports it owes."""

    spec: ExecutorSpec
    #: Contexts at home here, resident or not, in the order they came.
    contexts: list[ContextState] = field(default_factory=list)
    #: Those of them that are resident and changed since their host copy was made: never of more than one job.
    unsaved: dict[ContextState, None] = field(default_factory=dict)
    running: TaskId | None = None
    #: Place in the order of submission of the job served last; -1 before the first.
    last_job: int = -1
    #: Decisions handed over and not yet reported.
    outstanding: int = 0

    @property
    def idle(self) -> bool:
        """Whether everything that it was told has been reported."""
        return self.outstanding == 0

    @property
    def resident(self) -> list[ContextState]:
        """The contexts in device memory."""
        return [context for context in self.contexts if context.resident]


@dataclass(frozen=True, slots=True)
class Running:
    """An attempt that goes on: its number, where, and which other executors stand by."""

    attempt: int
    executor: str
    also: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class JobState:
    """A job: the frontier of its DAG, unrolled no further than it has come."""

    job: Job
    #: Place in the order of submission.
    submitted: int
    graph: JobGraph = field(init=False)
    status: JobStatus = JobStatus.RUNNING
    contexts: dict[str, ContextState] = field(init=False)
    #: Tasks that could start, and since when (seconds since the run began).
    ready: dict[TaskId, float] = field(default_factory=dict)
    running: dict[TaskId, Running] = field(default_factory=dict)
    #: When a task of it last started (seconds since the run began); -1 before the first.
    served_at: float = -1.0
    #: Checkpoints that were decided and not yet reported.
    checkpoints_owed: int = 0
    _missing: dict[TaskId, int] = field(default_factory=dict)
    _attempts: dict[TaskId, int] = field(default_factory=dict)
    #: Per step, the iterations that committed beyond the first gap, and where that gap is.
    _ahead: dict[str, set[int]] = field(default_factory=dict)
    _watermark: dict[str, int] = field(default_factory=dict)
    _tasks_left: int = field(init=False)
    #: Upward ranks of the steps and seconds per iteration, as of some iteration.
    _ranks: dict[str, float] = field(default_factory=dict)
    _cycle: float = 0.0
    _ranked_at: int | None = None

    def __post_init__(self) -> None:
        """Set up the graph and a record per context."""
        self.graph = JobGraph(self.job)
        self._tasks_left = len(self.graph.start_tasks()) + self.job.iterations * len(self.job.steps)
        self.contexts = {
            context.name: ContextState(
                ContextId(self.job.name, context.name), context, TaskId(self.job.name, START, name)
            )
            for name, context in zip(self.graph.inits, self.job.contexts, strict=True)
        }

    def open(self, at: float) -> list[TaskId]:
        """Make ready what waits for nothing, and return it."""
        roots = [TaskId(self.job.name, 0, name) for name in self.graph.order]
        found = [task for task in [*self.graph.start_tasks(), *roots] if not self.graph.predecessors(task)]
        self.ready.update(dict.fromkeys(found, at))
        return found

    @property
    def is_over(self) -> bool:
        """Whether the job has a final status."""
        return self.status is not JobStatus.RUNNING

    @property
    def is_complete(self) -> bool:
        """Whether every task has committed and every checkpoint is written."""
        return self._tasks_left == 0 and self.checkpoints_owed == 0

    def start(self, task: TaskId, executor: str, also: tuple[str, ...], at: float) -> int:
        """Mark a ready task as running; returns the number of the attempt, from 1."""
        del self.ready[task]
        self.served_at = at
        attempt = self._attempts.get(task, 0) + 1
        self._attempts[task] = attempt
        self.running[task] = Running(attempt, executor, also)
        return attempt

    def is_running(self, task: TaskId, attempt: int, executor: str) -> bool:
        """Whether this very attempt is the current one."""
        running = self.running.get(task)
        return running is not None and (running.attempt, running.executor) == (attempt, executor)

    def take_back(self, task: TaskId, at: float) -> None:
        """Make a running task ready again, unless the job is over; reports of that attempt no longer count."""
        del self.running[task]
        if not self.is_over:
            self.ready[task] = at

    @property
    def is_settled(self) -> bool:
        """Whether every context has a home, or had one."""
        return all(context.home is not None or context.seen_bytes is not None for context in self.contexts.values())

    def commit(self, task: TaskId, at: float) -> list[TaskId]:
        """Count a task as done, make ready what waited for it alone, and return that."""
        opened = []
        self._tasks_left -= 1
        self._attempts.pop(task, None)
        self._note_committed(task)
        for successor in self.graph.successors(task):
            missing = self._missing.get(successor)
            missing = self.graph.predecessor_count(successor) if missing is None else missing
            if missing == 1:
                self._missing.pop(successor, None)
                self.ready[successor] = at
                opened.append(successor)
            else:
                self._missing[successor] = missing - 1
        return opened

    def is_committed(self, task: TaskId) -> bool:
        """Whether the task has committed."""
        mark = self._watermark.get(task.step, START)
        return task.iteration < mark or task.iteration in self._ahead.get(task.step, ())

    def checkpoint_due(self, iteration: int) -> bool:
        """Whether contexts are checkpointed after this iteration: the last one always is."""
        every = self.job.checkpoint_every
        return iteration + 1 == self.job.iterations or (every is not None and (iteration + 1) % every == 0)

    def remaining_seconds(self, task: TaskId, seconds: Callable[[Step], float]) -> float:
        """Seconds on the longest path from a task to the end of the job, by durations looked at once an iteration."""
        if self._ranked_at != task.iteration:
            self._ranked_at = task.iteration
            self._ranks = self.graph.upward_ranks(seconds)
            self._cycle = max(self._ranks.values()) / (1 + self.job.max_staleness)
        if task.iteration == START:
            return seconds(self.graph.step(task.step)) + self.job.iterations * self._cycle
        return self._ranks[task.step] + (self.job.iterations - 1 - task.iteration) * self._cycle

    def _note_committed(self, task: TaskId) -> None:
        first = START if task.step in self.graph.inits or self.graph.steps[task.step].targets else 0
        ahead = self._ahead.setdefault(task.step, set())
        ahead.add(task.iteration)
        mark = self._watermark.get(task.step, first)
        while mark in ahead:
            ahead.remove(mark)
            mark += 1
        self._watermark[task.step] = mark
