"""Builders for tests: jobs and clusters in a line, and a scheduler that is told events in words.

Shipped for people who extend dagrl: a policy, a backend or a front end is tested with these without a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from dagrl.estimates import Estimates
from dagrl.events import (
    Checkpoint,
    ContextCheckpointed,
    ContextEvicted,
    ContextRestored,
    ContextSaved,
    Decision,
    Drop,
    End,
    Event,
    Evict,
    JobSubmitted,
    Load,
    Restore,
    Run,
    Save,
    TaskFailed,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.model import (
    Cluster,
    Context,
    ContextId,
    Eviction,
    ExecutorSpec,
    Job,
    Need,
    OnEvict,
    Step,
    StepKind,
    TaskId,
)
from dagrl.policy import Policy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.scheduler import Scheduler


def cluster(text: str, *, memory_bytes: int | None = None, eviction: Eviction = Eviction.LAZY) -> Cluster:
    """A cluster from words: `cluster("1 rollout 2 train")` has executors rollout0, train0 and train1."""
    words = text.split()
    executors = [
        ExecutorSpec(f"{pool}{index}", pool, memory_bytes=memory_bytes)
        for number, pool in zip(words[::2], words[1::2], strict=True)
        for index in range(int(number))
    ]
    return Cluster(tuple(executors), eviction)


def grpo(
    name: str,
    iterations: int = 2,
    seconds: tuple[float, float, float] = (1.0, 0.1, 1.0),
    *,
    memory_bytes: int | None = None,
    max_staleness: int = 0,
    priority: int = 0,
) -> Job:
    """A job of four steps on pools rollout, cpu and train; `seconds` are those of sample, reward and train."""
    run = "dagrl.testing:grpo"
    sample, reward, train = seconds
    return Job(
        name,
        iterations,
        steps=(
            Step("sample", StepKind.SAMPLE, "rollout", run, "sampler", expected_seconds=sample),
            Step("reward", StepKind.REWARD, "cpu", run, needs=(Need("sample"),), expected_seconds=reward),
            Step("train", StepKind.TRAIN, "train", run, "actor", (Need("reward"),), expected_seconds=train),
            Step("propagate", StepKind.PROPAGATE, "train", None, "actor", (Need("train"),), ("sampler",)),
        ),
        contexts=(
            Context("actor", run, "train", memory_bytes=memory_bytes),
            Context("sampler", run, "rollout", OnEvict.DISCARD, memory_bytes),
        ),
        max_staleness=max_staleness,
        priority=priority,
    )


def solo(name: str, iterations: int = 2, pool: str = "train", *, memory_bytes: int | None = None) -> Job:
    """A job of one step in one context."""
    run = "dagrl.testing:solo"
    step = Step("work", StepKind.TASK, pool, run, "state", expected_seconds=1.0)
    return Job(name, iterations, (step,), (Context("state", run, pool, memory_bytes=memory_bytes),))


def in_words(decision: Decision) -> str:
    """A decision as a test writes it: `run a/0/sample on rollout0`, `restore a/actor on train0`, `end a done`."""
    match decision:
        case Run(task=task):
            return f"run {task} on {decision.executor}"
        case End(job=job, status=status):
            return f"end {job} {status}"
        case Load(context=context, version=version):
            return f"load {context} v{version} on {decision.executor}"
        case Save() | Evict() | Restore() | Checkpoint() | Drop():
            return f"{type(decision).__name__.lower()} {decision.context} on {decision.executor}"
        case _:
            return f"cancel {decision.task} on {decision.executor}"


class Case:
    """A scheduler under test, told what happened and asked what it decided, both in words.

    Used as a context manager it checks the scheduler's own rules after every event, and fails if a decision was
    neither asked for by `decides` nor passed over by `whatever`.
    """

    def __init__(self, cluster: Cluster, policy: Policy | None = None) -> None:
        self.scheduler = Scheduler(cluster, policy or ListPolicy(), Estimates())
        self.at = 0.0
        self.context_bytes = 1
        self._open: list[Decision] = []
        self._unseen: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._unseen:
            raise AssertionError(f"nobody asked for: {self._unseen}")

    def handle(self, event: Event) -> Self:
        """Let any event happen."""
        decisions = self.scheduler.handle(event)
        self.scheduler.check()
        self._open += decisions
        self._unseen += [in_words(decision) for decision in decisions]
        return self

    def submit(self, *jobs: Job) -> Self:
        """Jobs join the run."""
        for job in jobs:
            self.handle(JobSubmitted(self.at, job))
        return self

    def after(self, seconds: float) -> Self:
        """Time goes by."""
        self.at += seconds
        return self

    def reports(self, *words: str) -> Self:
        """Executors report that decisions, in the words of `in_words`, were carried out well."""
        for wanted in words:
            self.handle(self._report(self._take(wanted)))
        return self

    def fails(self, words: str, error: str = "ValueError: no") -> Self:
        """An executor reports that the task of a run decision failed."""
        decision, at = self._take(words), self.at
        if not isinstance(decision, Run):
            raise TypeError(f"only a run fails: {words!r}")
        return self.handle(TaskFailed(at, decision.task, decision.attempt, decision.executor, at, at, error))

    def decides(self, *words: str) -> Self:
        """The decisions since the last call were exactly these, in this order."""
        seen, self._unseen = self._unseen, []
        if seen != list(words):
            raise AssertionError(f"expected {list(words)}, decided {seen}")
        return self

    def whatever(self) -> Self:
        """Pass over the decisions since the last call."""
        self._unseen.clear()
        return self

    def start(self, *jobs: Job) -> Self:
        """Submit jobs and let everything before iteration 0 happen, a second for each task."""
        self.submit(*jobs)
        while starting := [in_words(d) for d in self._open if isinstance(d, Run) and d.task.iteration < 0]:
            self.after(1.0).reports(*self._before(starting[0]), starting[0])
        return self

    def _before(self, words: str) -> Sequence[str]:
        """The operations that were decided for the same executor before a decision, as it must report them first."""
        place = words.rpartition(" on ")[2]
        queue = [in_words(d) for d in self._open if not isinstance(d, End | Drop) and d.executor == place]
        return queue[: queue.index(words)]

    def _take(self, words: str) -> Decision:
        for decision in self._open:
            if in_words(decision) == words:
                self._open.remove(decision)
                return decision
        raise AssertionError(f"{words!r} was not decided; open: {[in_words(d) for d in self._open]}")

    def _report(self, decision: Decision) -> Event:
        at, size = self.at, self.context_bytes
        match decision:
            case Run(task=task, attempt=attempt, executor=executor):
                return TaskFinished(at, task, attempt, executor, at, at, resident_bytes=size)
            case Save(context=context, executor=executor):
                return ContextSaved(at, context, executor, at, at, size)
            case Evict(context=context, executor=executor):
                return ContextEvicted(at, context, executor, at, at, size)
            case Restore(context=context, executor=executor):
                return ContextRestored(at, context, executor, at, at, size)
            case Load(context=context, executor=executor, version=version):
                return WeightsLoaded(at, context, executor, version, at, at, size)
            case Checkpoint(context=context, executor=executor, iteration=iteration):
                return ContextCheckpointed(at, context, executor, iteration, at, at, "", "", size)
            case _:
                raise AssertionError(f"{in_words(decision)} has no report")


__all__ = ["Case", "ContextId", "TaskId", "cluster", "grpo", "in_words", "solo"]
