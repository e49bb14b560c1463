"""The state machine that decides: an event comes in, decisions go out.

`Scheduler.handle` is the only thing that changes its state. It reads no clock (events carry `at`), does no I/O and
draws no random number, so equal events give equal decisions: the engine and the simulator drive the same class, and a
journal's events replayed give the journal's decisions.

One executor carries out its decisions in the order they were made. So a budget is charged and freed when a decision
is made, and an executor is idle when everything it was told has been reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import assert_never

from dagrl.errors import InvariantError
from dagrl.estimates import Estimates
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
    Restore,
    Run,
    Save,
    TaskFailed,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.model import Cluster, Eviction, Job, JobStatus, Step, StepKind, TaskId
from dagrl.policy import Candidate, Policy, Queue
from dagrl.residency import evictions, expected_start, never_fits, switch_seconds
from dagrl.state import ContextState, ExecutorState, JobState


class Scheduler:
    """Packs the ready tasks of all jobs onto executors."""

    def __init__(self, cluster: Cluster, policy: Policy, estimates: Estimates | None = None) -> None:
        self._policy = policy
        self._eviction = cluster.eviction
        self._estimates = estimates if estimates is not None else Estimates()
        self.executors = {spec.name: ExecutorState(spec) for spec in cluster.executors}
        self.jobs: dict[str, JobState] = {}
        self._now = 0.0

    @property
    def finished(self) -> bool:
        """Whether every job has ended and no executor owes a report."""
        return all(job.is_over for job in self.jobs.values()) and all(e.idle for e in self.executors.values())

    def handle(self, event: Event) -> list[Decision]:
        """Take note of what happened and say what to do now.

        Reports of attempts that are no longer current change nothing.
        """
        self._now = event.at
        self._estimates.saw(event)
        return [*self._note(event), *self._dispatch()]

    def check(self) -> None:
        """Raise InvariantError if the state breaks a rule; tests and simulations ask after every event."""
        for executor in self.executors.values():
            name, budget = executor.spec.name, executor.spec.memory_bytes
            used = sum(context.bytes or 0 for context in executor.resident)
            if executor.outstanding < 0:
                raise InvariantError(f"{name} reported more than it was told to do")
            if budget is not None and used > budget and len(executor.resident) > 1:
                raise InvariantError(f"{name} holds {used} bytes, its budget is {budget}")
            if executor.running is not None and executor.idle:
                raise InvariantError(f"{name} runs {executor.running} and counts as idle")
        for job in self.jobs.values():
            for task, running in job.running.items():
                if self.executors[running.executor].running != task:
                    raise InvariantError(f"{task} is said to run on {running.executor}, which does not run it")

    def _note(self, event: Event) -> Iterable[Decision]:
        match event:
            case JobSubmitted(job=job):
                return self._job_submitted(job, event.at)
            case JobCancelled(job=name, reason=reason):
                return self._end(self.jobs[name], JobStatus.CANCELLED, reason)
            case TaskFinished():
                return self._task_finished(event) if self._is_current(event) else []
            case TaskFailed():
                return self._task_failed(event) if self._is_current(event) else []
            case ContextSaved() | ContextEvicted() | ContextRestored() | WeightsLoaded() | ContextCheckpointed():
                return self._operation_done(event)
            case ContextFaulted():
                return self._context_faulted(event)
            case ContextDropped():
                return []
            case ExecutorLost():
                return self._executor_lost(event)
            case _:
                assert_never(event)

    # What happened

    def _job_submitted(self, job: Job, at: float) -> Iterable[Decision]:
        if job.name in self.jobs:
            raise InvariantError(f"job {job.name!r} was submitted twice")
        state = JobState(job, len(self.jobs))
        state.open(at)
        self.jobs[job.name] = state
        return []

    def _is_current(self, event: TaskFinished | TaskFailed) -> bool:
        job = self.jobs.get(event.task.job)
        return job is not None and job.is_running(event.task, event.attempt, event.executor)

    def _task_finished(self, event: TaskFinished) -> Iterable[Decision]:
        job, step = self.jobs[event.task.job], self._release(event)
        if job.is_over:
            yield from self._drop_contexts(job)
            return
        job.commit(event.task, event.at)
        if step.context is not None:
            context = job.contexts[step.context]
            following = job.graph.next_in_context(event.task)
            context.task_done(event, following, dirties=step.kind is not StepKind.PROPAGATE)
            yield from self._after_context_task(job, context, event.task)
        if job.is_complete:
            yield from self._end(job, JobStatus.DONE)

    def _after_context_task(self, job: JobState, context: ContextState, task: TaskId) -> Iterable[Decision]:
        executor = self._home(context)
        if never_fits(executor, context):
            reason = (
                f"context {context.id.name!r} occupies {context.bytes} bytes, but executor {executor.spec.name!r} "
                f"has {executor.spec.memory_bytes}; give the executor more memory or make the context smaller"
            )
            yield from self._end(job, JobStatus.FAILED, reason)
            return
        if job.graph.closes_iteration(task) and job.checkpoint_due(task.iteration):
            executor.outstanding += 1
            job.checkpoints_owed += 1
            yield Checkpoint(context.id, executor.spec.name, task.iteration)
        if context.next_task is None:
            yield self._drop(context)
            return
        for victim in evictions(executor, context, self._next_use):
            yield self._evict(victim)
        if self._eviction is Eviction.EAGER:
            yield self._evict(context)

    def _task_failed(self, event: TaskFailed) -> Iterable[Decision]:
        self._release(event)
        return self._end(self.jobs[event.task.job], JobStatus.FAILED, f"{event.task}: {event.error}")

    def _operation_done(
        self, event: ContextSaved | ContextEvicted | ContextRestored | WeightsLoaded | ContextCheckpointed
    ) -> Iterable[Decision]:
        self.executors[event.executor].outstanding -= 1
        job = self.jobs[event.context.job]
        context = job.contexts[event.context.name]
        match event:
            case ContextSaved() | ContextEvicted():
                context.dirty, context.has_copy = False, True
            case WeightsLoaded(version=version):
                context.version = version
            case ContextCheckpointed():
                job.checkpoints_owed -= 1
            case ContextRestored():
                pass
        return self._end(job, JobStatus.DONE) if job.is_complete and not job.is_over else []

    def _context_faulted(self, event: ContextFaulted) -> Iterable[Decision]:
        self.executors[event.executor].outstanding -= 1
        reason = f"{event.operation} of context {event.context.name!r} failed: {event.error}"
        return self._end(self.jobs[event.context.job], JobStatus.FAILED, reason)

    def _executor_lost(self, event: ExecutorLost) -> Iterable[Decision]:
        executor = self.executors[event.executor]
        executor.outstanding, running, executor.running = 0, executor.running, None
        if running is not None:
            self.jobs[running.job].take_back(running, event.at)
            self._forget_unbuilt(executor, running)
        harmed = {event.culprit: event.cause} if event.culprit is not None else {}
        for context in executor.contexts:
            context.resident = False
            if not context.recoverable:
                lost = f"context {context.id.name!r} was lost with executor {event.executor!r}: {event.cause}"
                harmed.setdefault(context.id.job, lost)
        for name, reason in harmed.items():
            yield from self._end(self.jobs[name], JobStatus.FAILED, reason)

    def _forget_unbuilt(self, executor: ExecutorState, task: TaskId) -> None:
        """A context whose build was under way has no state to lose: it can be built anywhere."""
        for context in list(executor.contexts):
            if context.next_task == task and context.seen_bytes is None:
                executor.contexts.remove(context)
                context.home, context.resident = None, False

    def _release(self, event: TaskFinished | TaskFailed) -> Step:
        executor, job = self.executors[event.executor], self.jobs[event.task.job]
        executor.outstanding -= 1
        executor.running = None
        del job.running[event.task]
        return job.graph.step(event.task.step)

    def _end(self, job: JobState, status: JobStatus, reason: str = "") -> Iterable[Decision]:
        if not job.is_over:
            job.status = status
            job.ready.clear()
            for task, running in job.running.items():
                yield Cancel(task, running.attempt, running.executor)
            yield End(job.job.name, status, reason)
        yield from self._drop_contexts(job)

    # What to do

    def _home(self, context: ContextState) -> ExecutorState:
        if context.home is None:
            raise InvariantError(f"context {context.id} is at home nowhere")
        return self.executors[context.home]

    def _drop_contexts(self, job: JobState) -> Iterable[Decision]:
        """Free what an ended job holds, except under a task of its own that still runs."""
        for context in job.contexts.values():
            if context.home is not None:
                running = self._home(context).running
                if running is None or running.job != job.job.name:
                    yield self._drop(context)

    def _drop(self, context: ContextState) -> Drop:
        executor = self._home(context)
        executor.contexts.remove(context)
        context.home, context.resident = None, False
        return Drop(context.id, executor.spec.name)

    def _evict(self, context: ContextState) -> Evict:
        executor = self._home(context)
        executor.outstanding += 1
        context.resident = False
        return Evict(context.id, executor.spec.name)

    def _next_use(self, context: ContextState) -> float:
        job = self.jobs[context.id.job]
        if context.next_task is None:
            return float("inf")
        return expected_start(job, context.next_task, lambda task: self._task_seconds(job, task))

    def _task_seconds(self, job: JobState, task: TaskId) -> float:
        return self._estimates.task_seconds(job.job.name, job.graph.step(task.step))

    def _dispatch(self) -> Iterable[Decision]:
        """Start tasks until no idle executor has one to start: candidates -> choice -> decisions.

        The executor with the fewest contexts is asked first, so that builds spread over a pool.
        """
        ranks: dict[str, Callable[[TaskId], float]] = {}
        started = True
        while started:
            started = False
            for executor in sorted(self.executors.values(), key=lambda each: len(each.contexts)):
                chosen = self._choose(executor, ranks) if executor.idle else None
                if chosen is not None:
                    started = True
                    yield from self._begin(chosen, executor)

    def _choose(self, executor: ExecutorState, ranks: dict[str, Callable[[TaskId], float]]) -> Candidate | None:
        candidates = [
            self._candidate(job, task, executor, ranks)
            for job in self.jobs.values()
            for task in job.ready
            if self._may_run(job, task, executor)
        ]
        if not candidates:
            return None
        return self._policy.choose(Queue(self._now, candidates, [n for n, job in self.jobs.items() if not job.is_over]))

    def _may_run(self, job: JobState, task: TaskId, executor: ExecutorState) -> bool:
        """Whether the task's context is at home here, or it is at home nowhere and this is its pool."""
        step = job.graph.step(task.step)
        home = job.contexts[step.context].home if step.context is not None else None
        return home == executor.spec.name or (home is None and step.pool == executor.spec.pool)

    def _candidate(
        self, job: JobState, task: TaskId, executor: ExecutorState, ranks: dict[str, Callable[[TaskId], float]]
    ) -> Candidate:
        step = job.graph.step(task.step)
        if job.job.name not in ranks:
            ranks[job.job.name] = job.remaining_seconds(partial(self._estimates.task_seconds, job.job.name))
        context = job.contexts[step.context] if step.context is not None else None
        return Candidate(
            task,
            step,
            job.job,
            job.submitted,
            job.ready[task],
            ranks[job.job.name](task),
            self._estimates.task_seconds(job.job.name, step),
            switch_seconds(executor, context, self._estimates),
        )

    def _begin(self, candidate: Candidate, executor: ExecutorState) -> Iterable[Decision]:
        """Make room, protect what stays, bring in what the task needs, and run it."""
        task, job = candidate.task, self.jobs[candidate.task.job]
        step = job.graph.step(task.step)
        context = job.contexts[step.context] if step.context is not None else None
        operations: list[Decision] = []
        if context is not None:
            operations += [self._evict(victim) for victim in evictions(executor, context, self._next_use)]
        for other in executor.resident:
            if other.dirty and other.id.job != task.job:
                operations.append(Save(other.id, executor.spec.name))
                executor.outstanding += 1
        if context is not None:
            operations += self._bring_in(context, executor, task)
        executor.outstanding += 1
        executor.running = task
        attempt = job.start(task, executor.spec.name)
        return [*operations, Run(task, attempt, executor.spec.name)]

    def _bring_in(self, context: ContextState, executor: ExecutorState, task: TaskId) -> Iterable[Decision]:
        name = executor.spec.name
        if context.home is None:
            context.home, context.resident = name, True
            executor.contexts.append(context)
            return
        restored = not context.resident
        if restored:
            context.resident = True
            executor.outstanding += 1
            yield Restore(context.id, name)
        wanted = self.jobs[task.job].graph.version_read(task)
        if wanted is not None and (wanted[1] != context.version or (restored and context.discards)):
            executor.outstanding += 1
            yield Load(context.id, name, *wanted)
