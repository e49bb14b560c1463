"""Drives the scheduler in virtual time: what the engine would do if everything took what it is expected to take.

There is no rule here, only a queue of reports in order of time. Durations come from `Estimates`, so that a plan after
a run uses what the run measured, the latency around each operation included.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil
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
    JobCancelled,
    JobSubmitted,
    Load,
    Operation,
    Record,
    Restore,
    Run,
    Save,
    TaskFailed,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.graph import JobGraph
from dagrl.model import Cluster, ContextId, Job, TaskId
from dagrl.policy import Policy
from dagrl.scheduler import Scheduler


def _as_expected(_task: TaskId, expected_seconds: float) -> float:
    return expected_seconds


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs, when they come and go, and what they run on. Seconds count from the beginning."""

    jobs: Sequence[Job]
    cluster: Cluster
    expected: Estimates
    #: When jobs arrive; at the beginning, unless they stand here.
    arrivals: Mapping[str, float] = field(default_factory=dict)
    #: When jobs leave, whether they are done or not.
    departures: Mapping[str, float] = field(default_factory=dict)
    #: What a task really takes, given what it is expected to.
    draw: Callable[[TaskId, float], float] = _as_expected
    #: Reports are looked at once in so many seconds, as by something that polls; at once for 0.
    polling_seconds: float = 0.0


def simulate(jobs: Sequence[Job], cluster: Cluster, policy: Policy, expected: Estimates) -> list[Record]:
    """The records of a run in which every operation takes its expected seconds.

    Raises InvariantError if the schedule stops before every job has ended.
    """
    return list(play(Workload(jobs, cluster, expected), policy))


def play(workload: Workload, policy: Policy) -> Iterator[Record]:
    """The records of a workload under a policy, one by one.

    Raises InvariantError if the schedule stops before every job has ended.
    """
    scheduler = Scheduler(workload.cluster, policy, workload.expected.copy())
    machine = _Machine({job.name: JobGraph(job) for job in workload.jobs}, workload)
    for job in workload.jobs:
        machine.post(JobSubmitted(workload.arrivals.get(job.name, 0.0), job))
    for name, at in workload.departures.items():
        machine.post(JobCancelled(at, name, "departed"))
    while (event := machine.next_report()) is not None:
        if isinstance(event, JobCancelled) and scheduler.jobs[event.job].is_over:
            continue
        decisions = scheduler.handle(event)
        told = [decision for decision in decisions if not isinstance(decision, End)]
        scheduler.check({operation.executor for operation in told})
        for operation in told:
            machine.carry_out(operation, event.at)
        yield Record(event, tuple(decisions))
    if not scheduler.finished:
        waiting = [str(task) for job in scheduler.jobs.values() for task in job.ready]
        raise InvariantError(f"the schedule stopped with unfinished jobs; ready: {', '.join(waiting) or 'nothing'}")


def makespan(records: Sequence[Record]) -> float:
    """Seconds from the start to the last report."""
    return records[-1].event.at if records else 0.0


#: The operations that take time.
_Timed: TypeAlias = Run | Save | Evict | Restore | Load | Checkpoint


@dataclass(slots=True)
class _Machine:
    """Executors that need no process: each carries out one operation after the other."""

    graphs: dict[str, JobGraph]
    workload: Workload
    _reports: list[tuple[float, int, Event]] = field(default_factory=list)
    _sequence: count[int] = field(default_factory=count)
    _free_at: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: Attempts that were cut short: their own reports never come.
    _cut: set[tuple[TaskId, int]] = field(default_factory=set)

    def post(self, event: Event) -> None:
        heapq.heappush(self._reports, (event.at, next(self._sequence), event))

    def next_report(self) -> Event | None:
        while self._reports:
            event = heapq.heappop(self._reports)[2]
            if isinstance(event, TaskFinished) and (event.task, event.attempt) in self._cut:
                self._cut.remove((event.task, event.attempt))
                continue
            return event
        return None

    def carry_out(self, operation: Operation, now: float) -> None:
        executor = operation.executor
        if isinstance(operation, Cancel):
            self._cut.add((operation.task, operation.attempt))
            self._free_at[executor] = now
            self.post(TaskFailed(now, operation.task, operation.attempt, executor, now, now, "cancelled"))
            return
        if isinstance(operation, Drop):
            self.post(ContextDropped(max(now, self._free_at[executor]), operation.context, executor))
            return
        started = max(now, self._free_at[executor]) + self.workload.expected.dispatch.value
        finished = started + self._seconds(operation)
        self._free_at[executor] = finished
        self.post(self._report(operation, started, finished))

    def _seconds(self, operation: _Timed) -> float:
        match operation:
            case Run(task=task):
                step = self.graphs[task.job].step(task.step)
                return self.workload.draw(task, self.workload.expected.task_seconds(task.job, step))
            case Save() | Evict() | Restore() | Load() | Checkpoint():
                return self.workload.expected.operation_seconds(_REPORT[type(operation)], operation.context)
            case _:
                assert_never(operation)

    def _report(self, operation: _Timed, started: float, finished: float) -> Event:
        at = self._heard_at(finished + self.workload.expected.report.value)
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

    def _heard_at(self, at: float) -> float:
        poll = self.workload.polling_seconds
        return at if poll == 0 else ceil(at / poll) * poll

    def _bytes(self, context: ContextId) -> int:
        declared = self.graphs[context.job].contexts[context.name].memory_bytes
        return self.workload.expected.resident_bytes.get(context, declared or 0)


_REPORT: dict[type[_Timed], type[Event]] = {
    Save: ContextSaved,
    Evict: ContextEvicted,
    Restore: ContextRestored,
    Load: WeightsLoaded,
    Checkpoint: ContextCheckpointed,
}
