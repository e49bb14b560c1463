"""The fold itself: one record after the other into lanes, job progress and residence.

Owns which event ends which decision and what it means for jobs and contexts. It trusts the order of the records and
nothing else: an operation that told nothing is struck when a later one of its executor reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from dagrl.events import (
    Cancel,
    Checkpoint,
    ContextCheckpointed,
    ContextDropped,
    ContextEvicted,
    ContextFaulted,
    ContextRestored,
    ContextSaved,
    Decision,
    Drop,
    End,
    Event,
    Evict,
    ExecutorLost,
    JobCancelled,
    JobSubmitted,
    Load,
    Record,
    Restore,
    Run,
    Save,
    TaskFailed,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.model import INIT_PREFIX, ContextId, JobStatus, TaskId
from dagrl.timeline.lane import Lane, Pending, Span, SpanKind
from dagrl.timeline.progress import Failure, JobProgress, log_path

_Moved: TypeAlias = ContextSaved | ContextEvicted | ContextRestored | WeightsLoaded | ContextCheckpointed
_OnContext: TypeAlias = Save | Evict | Restore | Load | Checkpoint | Drop

_MOVES: Mapping[type[_Moved], tuple[SpanKind, type[_OnContext]]] = {
    ContextSaved: (SpanKind.SAVE, Save),
    ContextEvicted: (SpanKind.EVICT, Evict),
    ContextRestored: (SpanKind.RESTORE, Restore),
    WeightsLoaded: (SpanKind.LOAD, Load),
    ContextCheckpointed: (SpanKind.CHECKPOINT, Checkpoint),
}


@dataclass(frozen=True, slots=True)
class Residence:
    """Where a context sits in device memory, and how much it takes; None while nobody has told."""

    executor: str
    bytes: int | None = None


class Timeline:
    """All that front ends show of a run. Executors named at the start have lanes even if they never work."""

    def __init__(self, executors: Iterable[str] = ()) -> None:
        self.lanes: dict[str, Lane] = {name: Lane(name) for name in executors}
        self.jobs: dict[str, JobProgress] = {}
        #: The contexts that are in device memory now.
        self.resident: dict[ContextId, Residence] = {}
        #: What each context took after its last task: a restore may move less.
        self._sizes: dict[ContextId, int] = {}
        #: Time of the last record.
        self.at = 0.0

    @classmethod
    def of(cls, records: Iterable[Record], executors: Iterable[str] = ()) -> Timeline:
        """The timeline of a whole run."""
        timeline = cls(executors)
        for record in records:
            timeline.add(record)
        return timeline

    @property
    def makespan_seconds(self) -> float:
        """When the last span ended; 0 for a run that did nothing."""
        return max((lane.last_end for lane in self.lanes.values()), default=0.0)

    @property
    def is_complete(self) -> bool:
        """Whether every job did all it was meant to do: only then can the makespan be compared."""
        return bool(self.jobs) and all(job.status is JobStatus.DONE for job in self.jobs.values())

    @property
    def computing_seconds(self) -> float:
        """Seconds of steps' own work on all executors."""
        return sum(lane.computing_seconds for lane in self.lanes.values())

    @property
    def switching_seconds(self) -> float:
        """Seconds of saving, evicting and restoring on all executors."""
        return sum(lane.switching_seconds for lane in self.lanes.values())

    def add(self, record: Record) -> None:
        """Take in the next record."""
        event = record.event
        self.at = max(self.at, event.at)
        self._happened(event)
        for decision in record.decisions:
            self._decided(decision, event.at)

    def lane(self, executor: str) -> Lane:
        """The lane of an executor, made when it is first heard of."""
        return self.lanes.setdefault(executor, Lane(executor))

    def _decided(self, decision: Decision, at: float) -> None:
        match decision:
            case End(job=name, status=status, reason=reason):
                self.jobs[name].status, self.jobs[name].reason = status, reason
            case Cancel():
                pass
            case _:
                self.lane(decision.executor).pending.append(Pending(decision, at))

    def _happened(self, event: Event) -> None:
        match event:
            case JobSubmitted():
                self.jobs[event.job.name] = JobProgress(event.job, event.at)
            case JobCancelled():
                pass
            case TaskFinished() | TaskFailed():
                self._task_ended(event)
            case ContextSaved() | ContextEvicted() | ContextRestored() | WeightsLoaded() | ContextCheckpointed():
                self._moved(event)
            case ContextDropped():
                self._settle(event.executor, event.context, Drop)
                self.resident.pop(event.context, None)
            case ContextFaulted():
                self._faulted(event)
            case ExecutorLost():
                self._lost(event)
            case _:
                assert_never(event)

    def _task_ended(self, event: TaskFinished | TaskFailed) -> None:
        task, ok = event.task, isinstance(event, TaskFinished)
        lane = self.lane(event.executor)
        lane.settle(lambda operation: operation == Run(task, event.attempt, event.executor))
        job = self.jobs[task.job]
        context = _context_of(task, job)
        lane.append(Span(SpanKind.COMPUTE, event.started, event.finished, task.job, task, context, ok=ok))
        if isinstance(event, TaskFailed):
            job.failed(Failure(event.at, event.executor, str(task), event.error, log_path(task)))
            return
        job.task_finished(event)
        if context is not None:
            self.resident[context] = Residence(event.executor, event.resident_bytes)
            self._sizes[context] = event.resident_bytes or 0

    def _moved(self, event: _Moved) -> None:
        context = event.context
        kind, decided = _MOVES[type(event)]
        lane = self._settle(event.executor, context, decided)
        lane.append(Span(kind, event.started, event.finished, context.job, context=context, bytes=event.bytes))
        if isinstance(event, ContextEvicted):
            self.resident.pop(context, None)
        if isinstance(event, ContextRestored):
            self.resident[context] = Residence(event.executor, self._sizes.get(context, event.bytes))
        job = self.jobs[context.job]
        job.last_at = max(job.last_at, event.finished)

    def _settle(self, executor: str, context: ContextId, decided: type[_OnContext]) -> Lane:
        lane = self.lane(executor)
        lane.settle(lambda operation: isinstance(operation, decided) and operation.context == context)
        return lane

    def _faulted(self, event: ContextFaulted) -> None:
        context = event.context
        lane = self.lane(event.executor)
        pending = lane.settle(lambda operation: isinstance(operation, _OnContext) and operation.context == context)
        kinds = {decided.__name__.lower(): kind for kind, decided in _MOVES.values()}
        if pending is not None and pending.verb in kinds:
            kind = kinds[pending.verb]
            lane.append(Span(kind, pending.since, event.at, context.job, context=context, ok=False))
        what = f"{event.operation} {context}"
        self.jobs[context.job].failed(Failure(event.at, event.executor, what, event.error))

    def _lost(self, event: ExecutorLost) -> None:
        lane = self.lane(event.executor)
        running = lane.running
        lane.pending.clear()
        for context in [context for context, place in self.resident.items() if place.executor == event.executor]:
            del self.resident[context]
        if running is None or event.culprit is None:
            return
        task = running.operation.task if isinstance(running.operation, Run) else None
        lane.append(Span(SpanKind.LOST, running.since, event.at, event.culprit, task, ok=False))
        what = running.subject if task is not None else f"{running.verb} {running.subject}"
        log = log_path(task) if task is not None else ""
        self.jobs[event.culprit].failed(Failure(event.at, event.executor, what, event.cause, log))


def _context_of(task: TaskId, job: JobProgress) -> ContextId | None:
    """The context that a task runs in."""
    if task.step.startswith(INIT_PREFIX):
        return ContextId(task.job, task.step.removeprefix(INIT_PREFIX))
    name = next(step.context for step in job.job.steps if step.name == task.step)
    return None if name is None else ContextId(task.job, name)
