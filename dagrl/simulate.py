"""Drives the scheduler in virtual time: what the engine would do if everything took what it is expected to take.

There is no rule here, only a queue of reports in order of time. Durations come from `Estimates`, so that a plan after
a run uses what the run measured, the latency around each operation included.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias, assert_never

from dagrl.errors import InvariantError
from dagrl.estimates import Estimates
from dagrl.events import (
    Cancel,
    Checkpoint,
    ContextCheckpointed,
    ContextDropped,
    ContextEvicted,
    ContextRestored,
    ContextSaved,
    Drop,
    End,
    Event,
    Evict,
    JobSubmitted,
    Load,
    Operation,
    Record,
    Restore,
    Run,
    Save,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.graph import JobGraph
from dagrl.model import Cluster, ContextId, Job
from dagrl.policy import Policy
from dagrl.scheduler import Scheduler


def simulate(jobs: Sequence[Job], cluster: Cluster, policy: Policy, expected: Estimates) -> list[Record]:
    """The records of a run in which every operation takes its expected seconds.

    Raises InvariantError if the schedule stops before every job has ended.
    """
    scheduler = Scheduler(cluster, policy, expected.copy())
    machine = _Machine({job.name: JobGraph(job) for job in jobs}, expected)
    records = []
    for job in jobs:
        machine.post(JobSubmitted(0.0, job))
    while machine.reports:
        event = machine.next_report()
        decisions = scheduler.handle(event)
        records.append(Record(event, tuple(decisions)))
        told = [decision for decision in decisions if not isinstance(decision, End)]
        scheduler.check({operation.executor for operation in told})
        for operation in told:
            machine.carry_out(operation, event.at)
    if not scheduler.finished:
        waiting = [str(task) for job in scheduler.jobs.values() for task in job.ready]
        raise InvariantError(f"the schedule stopped with unfinished jobs; ready: {', '.join(waiting) or 'nothing'}")
    return records


def makespan(records: Sequence[Record]) -> float:
    """Seconds from the start to the last report."""
    return records[-1].event.at if records else 0.0


#: The operations that take time.
_Timed: TypeAlias = Run | Save | Evict | Restore | Load | Checkpoint


@dataclass(slots=True)
class _Machine:
    """Executors that need no process: each carries out one operation after the other."""

    graphs: dict[str, JobGraph]
    expected: Estimates
    reports: list[tuple[float, int, Event]] = field(default_factory=list)
    _sequence: count[int] = field(default_factory=count)
    _free_at: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def post(self, event: Event) -> None:
        heapq.heappush(self.reports, (event.at, next(self._sequence), event))

    def next_report(self) -> Event:
        return heapq.heappop(self.reports)[2]

    def carry_out(self, operation: Operation, now: float) -> None:
        if isinstance(operation, Cancel):
            return
        executor = operation.executor
        if isinstance(operation, Drop):
            self.post(ContextDropped(max(now, self._free_at[executor]), operation.context, executor))
            return
        started = max(now, self._free_at[executor]) + self.expected.dispatch.value
        finished = started + self._seconds(operation)
        self._free_at[executor] = finished
        self.post(self._report(operation, started, finished))

    def _seconds(self, operation: _Timed) -> float:
        match operation:
            case Run(task=task):
                return self.expected.task_seconds(task.job, self.graphs[task.job].step(task.step))
            case Save() | Evict() | Restore() | Load() | Checkpoint():
                return self.expected.operation_seconds(_REPORT[type(operation)], operation.context)
            case _:
                assert_never(operation)

    def _report(self, operation: _Timed, started: float, finished: float) -> Event:
        at = finished + self.expected.report.value
        match operation:
            case Run(task=task, attempt=attempt, executor=executor):
                context = self.graphs[task.job].step(task.step).context
                size = self._bytes(ContextId(task.job, context)) if context is not None else None
                return TaskFinished(at, task, attempt, executor, started, finished, resident_bytes=size)
            case Save(context=context, executor=executor):
                return ContextSaved(at, context, executor, started, finished, self._bytes(context))
            case Evict(context=context, executor=executor):
                return ContextEvicted(at, context, executor, started, finished, self._bytes(context))
            case Restore(context=context, executor=executor):
                return ContextRestored(at, context, executor, started, finished, self._bytes(context))
            case Load(context=context, executor=executor, version=version):
                return WeightsLoaded(at, context, executor, version, started, finished, self._bytes(context))
            case Checkpoint(context=context, executor=executor, iteration=iteration):
                return ContextCheckpointed(at, context, executor, iteration, started, finished, "", "", 0)
            case _:
                assert_never(operation)

    def _bytes(self, context: ContextId) -> int:
        declared = self.graphs[context.job].contexts[context.name].memory_bytes
        return self.expected.resident_bytes.get(context, declared or 0)


_REPORT: dict[type[_Timed], type[Event]] = {
    Save: ContextSaved,
    Evict: ContextEvicted,
    Restore: ContextRestored,
    Load: WeightsLoaded,
    Checkpoint: ContextCheckpointed,
}
