"""Why a task ran when and where it did, or why it has not run: read off a run's records.

Pure: the same records give the same explanation, whether a run goes on, has ended or was only simulated. Front ends
print the data; nothing is worded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dagrl.events import End, JobSubmitted, Operation, Record, Run, TaskFailed, TaskFinished
from dagrl.graph import JobGraph
from dagrl.model import ContextId, TaskId
from dagrl.timeline import Span, SpanKind, Timeline


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try: where, when it was decided, and how it went; times are seconds since the run began."""

    number: int
    executor: str
    decided_at: float
    #: What the same decision had the executor do before it: `save gcd/actor`, `restore ...`.
    before: tuple[str, ...]
    started: float | None = None
    finished: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of one task."""

    task: TaskId
    #: The tasks it waits for, and when each committed; None for those that have not.
    waits_for: tuple[tuple[TaskId, float | None], ...]
    #: When the last of them had committed; None while one has not.
    ready_at: float | None
    attempts: tuple[Attempt, ...]
    #: The executor where its context is at home, and so the only one it can run on; None if any of its pool will do.
    home: str | None
    pool: str
    #: What its executor did between its readiness and its start, longest first; up to now if it has not started.
    meanwhile: tuple[Span, ...] = ()
    #: How its job ended before it could run; empty if it did run or still can.
    job_ended: str = ""


@dataclass(slots=True)
class _Findings:
    """What one pass over the records finds out about a task."""

    task: TaskId
    graph: JobGraph | None = None
    submitted_at: float = 0.0
    committed: dict[TaskId, float] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    home: str | None = None
    job_ended: str = ""


def explain(records: Sequence[Record], task: TaskId) -> Explanation | None:
    """The explanation of a task; None if the run has no such task."""
    found = _Findings(task)
    for record in records:
        _note(found, record)
    if found.graph is None or not _exists(found.graph, task):
        return None
    step = found.graph.step(task.step)
    waits_for = tuple((each, found.committed.get(each)) for each in sorted(found.graph.predecessors(task)))
    times = [at for _, at in waits_for if at is not None]
    ready_at = max([found.submitted_at, *times]) if len(times) == len(waits_for) else None
    attempts = tuple(found.attempts.values())
    return Explanation(
        task,
        waits_for,
        ready_at,
        attempts,
        found.home,
        step.pool,
        tuple(_meanwhile(records, ready_at, attempts, found.home)),
        found.job_ended if not attempts else "",
    )


def _exists(graph: JobGraph, task: TaskId) -> bool:
    return task in graph.start_tasks() or (task.step in graph.steps and 0 <= task.iteration < graph.job.iterations)


def _note(found: _Findings, record: Record) -> None:
    event, task = record.event, found.task
    match event:
        case JobSubmitted(job=job) if job.name == task.job:
            found.graph, found.submitted_at = JobGraph(job), event.at
        case TaskFinished() if event.task.job == task.job:
            found.committed[event.task] = event.at
        case _:
            pass
    if isinstance(event, TaskFinished | TaskFailed) and event.task == task and event.attempt in found.attempts:
        tried = found.attempts[event.attempt]
        error = event.error if isinstance(event, TaskFailed) else ""
        found.attempts[event.attempt] = Attempt(
            tried.number, tried.executor, tried.decided_at, tried.before, event.started, event.finished, error
        )
    for decision in record.decisions:
        if isinstance(decision, End) and decision.job == task.job:
            found.job_ended = f"{decision.status} {decision.reason}".strip()
        if isinstance(decision, Run) and decision.task.job == task.job:
            _note_run(found, decision, record)


def _note_run(found: _Findings, run: Run, record: Record) -> None:
    if found.graph is None:
        return
    context = found.graph.step(run.task.step).context
    if context is not None and context == found.graph.step(found.task.step).context:
        found.home = run.executor
    if run.task == found.task:
        before = tuple(_in_words(each) for each in _told_before(record, run))
        found.attempts[run.attempt] = Attempt(run.attempt, run.executor, record.event.at, before)


def _told_before(record: Record, run: Run) -> Iterable[Operation]:
    """What the executor was told in the same turn, before the task."""
    for decision in record.decisions:
        if decision == run:
            return
        if not isinstance(decision, End) and decision.executor == run.executor:
            yield decision


def _in_words(operation: Operation) -> str:
    subject: TaskId | ContextId = operation.task if hasattr(operation, "task") else operation.context
    return f"{type(operation).__name__.lower()} {subject}"


def _meanwhile(
    records: Sequence[Record], ready_at: float | None, attempts: Sequence[Attempt], home: str | None
) -> list[Span]:
    """What kept the executor, from readiness to the first start, longest first."""
    executor = attempts[0].executor if attempts else home
    if ready_at is None or executor is None:
        return []
    timeline = Timeline.of(records)
    until = attempts[0].started if attempts and attempts[0].started is not None else timeline.at
    spans = [
        span
        for span in timeline.lane(executor).spans
        if span.end > ready_at and span.start < until and span.kind is not SpanKind.LOST
    ]
    return sorted(spans, key=lambda span: span.start - span.end)
