"""Where ready tasks wait and which executors should look: the queues of executors and pools.

A task whose context is at home on an executor waits there; any other waits at its pool, for whichever executor comes
first. An executor is woken when it becomes idle, when something it could do becomes ready, and when a job ends, so that
no event costs more than the executors it concerns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from dagrl.estimates import Estimates
from dagrl.model import StepKind, TaskId
from dagrl.policy import Candidate, Rank
from dagrl.ready import ReadyQueue
from dagrl.residency import switch_seconds
from dagrl.state import ExecutorState, JobState


@dataclass(slots=True)
class Floor:
    """All executors, and what is ready for them."""

    executors: Mapping[str, ExecutorState]
    _at_home: dict[str, ReadyQueue] = field(default_factory=lambda: defaultdict(ReadyQueue))
    _at_pool: dict[str, ReadyQueue] = field(default_factory=lambda: defaultdict(ReadyQueue))
    #: Where each ready task waits: at several places if it occupies several executors at once.
    _places: dict[TaskId, list[ReadyQueue]] = field(default_factory=dict)
    #: Executors to ask, in the order in which they were woken.
    _awake: dict[str, None] = field(default_factory=dict)
    #: Executors that wait for a task of which others are busy.
    _held: dict[str, None] = field(default_factory=dict)
    #: Per pool, the executors that were asked and had nothing to start.
    _resting: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))

    def push(self, candidate: Candidate, rank: Rank, home: str | None) -> None:
        """Add a ready task and wake an executor that could take it."""
        step = candidate.step
        places = [self._at_pool[step.pool] if home is None else self._at_home[home]]
        places += [self._at_pool[pool] for pool in step.also_pools]
        if step.slots > 1 and home is not None:
            places.append(self._at_pool[step.pool])
        for place in places:
            place.push(candidate, rank)
        self._places[candidate.task] = places
        if home is not None:
            self.wake(home)
        else:
            self._wake_one(candidate)

    def remove(self, task: TaskId) -> None:
        """Take a task out, because it starts or its job has ended."""
        for place in self._places.pop(task):
            place.remove(task)

    def wake(self, executor: str) -> None:
        """Have an executor asked."""
        self._awake[executor] = None
        self._resting[self.executors[executor].spec.pool].pop(executor, None)

    def hold(self, executor: ExecutorState) -> None:
        """Have an executor asked again at the next event: it waits for others to become idle."""
        self._held[executor.spec.name] = None

    def wake_held(self) -> None:
        """Have the executors asked that were held."""
        for executor in self._held:
            self.wake(executor)
        self._held.clear()

    def crew(self, candidate: Candidate, home: str | None) -> list[ExecutorState] | None:
        """The executors that a task would occupy, the one it runs on first; None while too few are idle."""
        step = candidate.step
        first = [] if home is None else [self.executors[home]]
        taken: dict[str, ExecutorState] = {each.spec.name: each for each in first if each.idle}
        for pool, wanted in ((step.pool, step.slots), *((pool, 1) for pool in step.also_pools)):
            missing = wanted - sum(each.spec.pool == pool for each in taken.values())
            spare = (each for each in self.executors.values() if each.spec.pool == pool and each.idle)
            fresh = [each for each in spare if each.spec.name not in taken][: max(missing, 0)]
            taken.update((each.spec.name, each) for each in fresh)
            if len(fresh) < missing:
                return None
        crew = list(taken.values())
        return crew if not first or crew[0] is first[0] else None

    def wake_all(self) -> None:
        """Have every executor asked: something changed that may concern any of them."""
        for executor in self.executors:
            self.wake(executor)

    def next_awake(self) -> ExecutorState | None:
        """The next executor to ask; None when there is none."""
        while self._awake:
            name = next(iter(self._awake))
            del self._awake[name]
            executor = self.executors[name]
            if executor.idle:
                self._resting[executor.spec.pool][name] = None
                return executor
        return None

    def started(self, executor: ExecutorState) -> None:
        """Take note that an executor is busy; what is left at its pool is for another one."""
        pool = executor.spec.pool
        self._resting[pool].pop(executor.spec.name, None)
        waiting = self._at_pool[pool]
        if len(waiting):
            self._wake_one(next(iter(waiting)))

    def queues(self, executor: ExecutorState) -> tuple[ReadyQueue, ReadyQueue]:
        """What waits at an executor and at its pool."""
        return self._at_home[executor.spec.name], self._at_pool[executor.spec.pool]

    def _wake_one(self, candidate: Candidate) -> None:
        """Wake a resting executor of the candidate's pool: the one with the fewest contexts for a build, else any."""
        resting = self._resting[candidate.step.pool]
        if candidate.step.kind is StepKind.INIT:
            name = min(resting, key=lambda each: len(self.executors[each].contexts), default=None)
        else:
            name = next(iter(resting), None)
        if name is not None:
            self.wake(name)


@dataclass(frozen=True, slots=True)
class ExecutorQueue:
    """What one idle executor could do now, as a policy sees it."""

    now: float
    executor: ExecutorState
    floor: Floor
    jobs: Mapping[str, JobState]
    estimates: Estimates

    @property
    def last_job(self) -> int:
        """Place in the order of submission of the job served last."""
        return self.executor.last_job

    @property
    def first_job(self) -> str:
        """The unfinished job that was submitted first."""
        return next((name for name, job in self.jobs.items() if not job.is_over), "")

    @property
    def jobs_at_home(self) -> Collection[str]:
        """The jobs that have contexts here."""
        return {context.id.job for context in self.executor.contexts}

    @property
    def next_to_settle(self) -> str | None:
        """The unfinished job submitted first that has a context without a home."""
        return next((name for name, job in self.jobs.items() if not job.is_over and not job.is_settled), None)

    def __len__(self) -> int:
        """How many candidates there are."""
        here, pool = self.floor.queues(self.executor)
        return len(here) + len(pool)

    def __iter__(self) -> Iterator[Candidate]:
        """All candidates."""
        return chain(*self.floor.queues(self.executor))

    def best(self, count: int) -> list[Candidate]:
        """The best by rank of both queues together, best first, and those that have been ready longest."""
        return ReadyQueue.best_of(self.floor.queues(self.executor), count)

    def can_start(self, candidate: Candidate) -> bool:
        """Whether every executor that it occupies at once is idle."""
        if candidate.step.slots == 1 and not candidate.step.also_pools:
            return True
        return self.floor.crew(candidate, self._home(candidate)) is not None

    def _home(self, candidate: Candidate) -> str | None:
        name = candidate.step.context
        return self.jobs[candidate.job.name].contexts[name].home if name is not None else None

    def switch_seconds(self, candidate: Candidate) -> float:
        """Expected seconds of saving and restoring before the candidate could start."""
        name = candidate.step.context
        context = self.jobs[candidate.job.name].contexts[name] if name is not None else None
        return switch_seconds(self.executor, context, self.estimates)
