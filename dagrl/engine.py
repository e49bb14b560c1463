"""Drives the scheduler in real time: hands decisions to executors and their reports back to it.

There is no rule here either. Each operation is one coroutine that returns the next event; the engine journals the
event with what the scheduler decided on it, and only then starts what was decided. Nothing polls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from dagrl.events import End, Event, JobCancelled, JobSubmitted, Operation, Record, Run, TaskFinished, job_of
from dagrl.executor import Executor, ExecutorBackend, Order, RunClock, find_backend
from dagrl.journal import Journal
from dagrl.model import START, ArtifactRef, Cluster, Job, TaskId
from dagrl.scheduler import Scheduler

#: How long running steps may take to end after the run was asked to stop.
GRACE_SECONDS = 5.0


class Engine:
    """Runs jobs on a cluster to their end."""

    def __init__(
        self,
        scheduler: Scheduler,
        journal: Journal,
        run_directory: Path,
        clock: RunClock,
        on_record: Callable[[Record], None],
    ) -> None:
        self._scheduler = scheduler
        self._journal = journal
        self._run_directory = run_directory
        self._clock = clock
        self._on_record = on_record
        self._executors: dict[str, Executor] = {}
        self._jobs: dict[str, Job] = {}
        self._artifacts: dict[str, dict[TaskId, ArtifactRef]] = {}
        self._reports: asyncio.Queue[asyncio.Task[Event | None]] = asyncio.Queue()
        self._operations: set[asyncio.Task[Event | None]] = set()
        self._stopping: asyncio.TimerHandle | None = None

    async def run(self, jobs: Sequence[Job], cluster: Cluster) -> None:
        """Run the jobs until every one has ended. Raises ExecutorError if an executor cannot be started."""
        async with AsyncExitStack() as stack:
            await self._start(cluster, stack)
            for job in jobs if self._stopping is None else ():
                self._take(JobSubmitted(self._clock.now(), job))
            while not self._scheduler.finished or self._operations:
                operation = await self._reports.get()
                self._operations.discard(operation)
                event = operation.result()
                if event is not None:
                    self._take(event)
            if self._stopping is not None:
                self._stopping.cancel()

    def stop(self, reason: str) -> None:
        """End all jobs: running steps are asked to stop, and killed after a grace period or at the second call.

        Call it from the event loop's thread.
        """
        if self._stopping is not None:
            self._kill()
            return
        loop = asyncio.get_running_loop()
        self._stopping = loop.call_later(GRACE_SECONDS, self._kill)
        for name, job in self._scheduler.jobs.items():
            if not job.is_over:
                self._take(JobCancelled(self._clock.now(), name, reason))

    def _kill(self) -> None:
        for executor in self._executors.values():
            self._spawn(self._end(executor))

    async def _end(self, executor: Executor) -> None:
        await executor.close(kill=True)

    async def _start(self, cluster: Cluster, stack: AsyncExitStack) -> None:
        backends: dict[str, ExecutorBackend] = {}
        for spec in cluster.executors:
            if spec.kind not in backends:
                backends[spec.kind] = find_backend(spec.kind)(self._run_directory, self._clock)
                stack.push_async_callback(backends[spec.kind].close)
        for spec in cluster.executors:
            executor = await backends[spec.kind].start(spec)
            stack.push_async_exit(partial(_close, executor))
            self._executors[spec.name] = executor

    def _take(self, event: Event) -> None:
        match event:
            case JobSubmitted(job=job):
                self._jobs[job.name] = job
                self._artifacts[job.name] = {}
            case TaskFinished(task=task, artifact=ArtifactRef() as artifact):
                self._artifacts[task.job][task] = artifact
            case _:
                pass
        record = Record(event, tuple(self._scheduler.handle(event)))
        self._journal.append(record)
        for decision in record.decisions:
            if isinstance(decision, End):
                self._artifacts[decision.job].clear()
            else:
                self._spawn(self._executors[decision.executor].carry_out(self._order(decision)))
        self._on_record(record)

    def _spawn(self, work: Coroutine[Any, Any, Event | None]) -> None:
        operation = asyncio.get_running_loop().create_task(work)
        self._operations.add(operation)
        operation.add_done_callback(self._reports.put_nowait)

    def _order(self, operation: Operation) -> Order:
        job = self._jobs[job_of(operation)]
        return Order(operation, job, self._inputs(job, operation.task) if isinstance(operation, Run) else {})

    def _inputs(self, job: Job, task: TaskId) -> Mapping[str, ArtifactRef]:
        if task.iteration == START:
            return {}
        step = next(step for step in job.steps if step.name == task.step)
        stored = self._artifacts[job.name]
        needed = {str(need): TaskId(job.name, task.iteration + need.offset, need.step) for need in step.needs}
        return {name: stored[source] for name, source in needed.items() if source in stored}


async def _close(executor: Executor, kind: type[BaseException] | None, *_: object) -> None:
    """End an executor: at once when the run has failed, for nobody waits for its steps then."""
    await executor.close(kill=kind is not None)
