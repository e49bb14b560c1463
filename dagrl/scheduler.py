"""The state machine that decides: an event comes in, decisions go out.

`Scheduler.handle` is the only thing that changes its state. It reads no clock (events carry `at`), does no I/O and
draws no random number, so equal events give equal decisions: the engine and the simulator drive the same class, and a
journal's events replayed give the journal's decisions.

One executor carries out its decisions in the order they were made. So a budget is charged and freed when a decision
is made, and an executor is idle when everything it was told has been reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from dagrl.floor import ExecutorQueue, Floor
from dagrl.model import Cluster, Eviction, Job, JobStatus, Step, StepKind, TaskId
from dagrl.policy import Candidate, Policy
from dagrl.residency import evictions, expected_start, never_fits, overflows
from dagrl.state import ContextState, ExecutorState, JobState


class Scheduler:
    """Packs the ready tasks of all jobs onto executors."""

    def __init__(self, cluster: Cluster, policy: Policy, estimates: Estimates | None = None) -> None:
        self._policy = policy
        self._eviction = cluster.eviction
        self._estimates = estimates if estimates is not None else Estimates()
        self.executors = {spec.name: ExecutorState(spec) for spec in cluster.executors}
        self.jobs: dict[str, JobState] = {}
        self._floor = Floor(self.executors)
        self._floor.wake_all()
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

    def check(self, names: Iterable[str] | None = None) -> None:
        """Raise InvariantError if executors, all unless named, break a rule; simulations ask after every event."""
        for name in self.executors if names is None else names:
            executor = self.executors[name]
            if executor.outstanding < 0:
                raise InvariantError(f"{name} reported more than it was told to do")
            if executor.spec.memory_bytes is not None and overflows(executor):
                raise InvariantError(f"the contexts on {name} exceed its {executor.spec.memory_bytes} bytes")
            if executor.running is not None and (executor.idle or not self._occupies(executor.running, name)):
                raise InvariantError(f"{name} is said to run {executor.running}, which is not so")

    def _is_known(self, task: TaskId, executor: str) -> bool:
        """Whether a task's attempt goes on there, and not only occupies it."""
        running = self.jobs[task.job].running.get(task)
        return running is not None and running.executor == executor

    def _occupies(self, task: TaskId, executor: str) -> bool:
        running = self.jobs[task.job].running.get(task)
        return running is not None and executor in (running.executor, *running.also)

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
        self.jobs[job.name] = state
        self._enqueue(state, state.open(at))
        return []

    def _is_current(self, event: TaskFinished | TaskFailed) -> bool:
        job = self.jobs.get(event.task.job)
        return job is not None and job.is_running(event.task, event.attempt, event.executor)

    def _task_finished(self, event: TaskFinished) -> Iterable[Decision]:
        job, step = self.jobs[event.task.job], self._release(event)
        if job.is_over:
            yield from self._drop_contexts(job)
            return
        self._enqueue(job, job.commit(event.task, event.at))
        if step.context is not None:
            context = job.contexts[step.context]
            following = job.graph.next_in_context(event.task)
            context.task_done(event, following, dirties=step.kind is not StepKind.PROPAGATE)
            if context.dirty:
                self._home(context).unsaved[context] = None
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
        self._reported(self.executors[event.executor])
        job = self.jobs[event.context.job]
        context = job.contexts[event.context.name]
        match event:
            case ContextSaved() | ContextEvicted():
                context.dirty, context.has_copy = False, True
                self.executors[event.executor].unsaved.pop(context, None)
            case WeightsLoaded(version=version):
                context.version = version
                if not context.discards and context.home is not None:
                    # Its host copy holds the weights of before.
                    context.dirty = True
                    self._home(context).unsaved[context] = None
            case ContextCheckpointed():
                job.checkpoints_owed -= 1
            case ContextRestored():
                pass
        return self._end(job, JobStatus.DONE) if job.is_complete and not job.is_over else []

    def _context_faulted(self, event: ContextFaulted) -> Iterable[Decision]:
        self._reported(self.executors[event.executor])
        reason = f"{event.operation} of context {event.context.name!r} failed: {event.error}"
        return self._end(self.jobs[event.context.job], JobStatus.FAILED, reason)

    def _executor_lost(self, event: ExecutorLost) -> Iterable[Decision]:
        executor = self.executors[event.executor]
        executor.outstanding, running, executor.running = 0, executor.running, None
        executor.unsaved.clear()
        self._floor.wake(event.executor)
        if running is not None and self._is_known(running, event.executor):
            job = self.jobs[running.job]
            job.take_back(running, event.at)
            self._forget_unbuilt(executor, running)
            self._enqueue(job, [running] if not job.is_over else [])
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
        job = self.jobs[event.task.job]
        running = job.running.pop(event.task)
        for name in (running.executor, *running.also):
            executor = self.executors[name]
            if executor.running == event.task:
                executor.running = None
                self._reported(executor)
        return job.graph.step(event.task.step)

    def _reported(self, executor: ExecutorState) -> None:
        executor.outstanding -= 1
        if executor.idle:
            self._floor.wake(executor.spec.name)

    def _end(self, job: JobState, status: JobStatus, reason: str = "") -> Iterable[Decision]:
        if not job.is_over:
            job.status = status
            for task in job.ready:
                self._floor.remove(task)
            job.ready.clear()
            self._floor.wake_all()
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
        executor.unsaved.pop(context, None)
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

    def _enqueue(self, job: JobState, tasks: Iterable[TaskId]) -> None:
        """Put ready tasks where they can run, and wake an executor that could take them."""
        for task in tasks:
            step = job.graph.step(task.step)
            home = job.contexts[step.context].home if step.context is not None else None
            candidate = Candidate(
                task,
                step,
                job.job,
                job.submitted,
                job.ready[task],
                job.remaining_seconds(task, partial(self._estimates.task_seconds, job.job.name)),
                self._estimates.task_seconds(job.job.name, step),
                job.served_at,
            )
            self._floor.push(candidate, self._policy.rank(candidate), home)

    def _dispatch(self) -> Iterable[Decision]:
        """Let every executor that was woken and is idle choose, until none wants to start anything.

        A task that occupies several executors starts when all of them are idle, in one decision; the executor that
        chose it is asked again at every event until then. Since it holds nothing meanwhile, nothing can deadlock.
        """
        self._floor.wake_held()
        while (executor := self._floor.next_awake()) is not None:
            queue = ExecutorQueue(self._now, executor, self._floor, self.jobs, self._estimates)
            chosen = self._policy.choose(queue) if len(queue) else None
            if chosen is None:
                continue
            crew = self._crew(chosen, executor)
            if crew is None:
                self._floor.hold(executor)
            else:
                yield from self._begin(chosen, crew[0], crew[1:])
                if executor.idle:
                    # Others took the task on.
                    self._floor.wake(executor.spec.name)

    def _crew(self, chosen: Candidate, executor: ExecutorState) -> list[ExecutorState] | None:
        step = chosen.step
        if step.slots == 1 and not step.also_pools:
            return [executor]
        context = self.jobs[chosen.task.job].contexts[step.context] if step.context is not None else None
        return self._floor.crew(chosen, context.home if context is not None else None)

    def _begin(
        self, candidate: Candidate, executor: ExecutorState, also: Sequence[ExecutorState]
    ) -> Iterable[Decision]:
        """Make room, protect what stays, bring in what the task needs, and run it."""
        task, job = candidate.task, self.jobs[candidate.task.job]
        step = job.graph.step(task.step)
        context = job.contexts[step.context] if step.context is not None else None
        operations: list[Decision] = []
        if context is not None:
            operations += [self._evict(victim) for victim in evictions(executor, context, self._next_use)]
        for other in executor.unsaved:
            if other.resident and other.id.job != task.job:
                operations.append(Save(other.id, executor.spec.name))
                executor.outstanding += 1
        if context is not None:
            operations += self._bring_in(context, executor, task)
        self._floor.remove(task)
        for each in (executor, *also):
            each.outstanding += 1
            each.running = task
            each.last_job = job.submitted
            self._floor.started(each)
        names = tuple(each.spec.name for each in also)
        attempt = job.start(task, executor.spec.name, names, self._now)
        return [*operations, Run(task, attempt, executor.spec.name, names)]

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
