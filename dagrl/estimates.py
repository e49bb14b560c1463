"""What things take: means of what was seen, seeded by what the specs guess.

Owns the durations that ranks, placement and simulation use. It is pure: `observe` folds the records of a run, and the
result serves a later plan. Durations are seconds, sizes bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from dagrl.events import (
    ContextCheckpointed,
    ContextEvicted,
    ContextRestored,
    ContextSaved,
    End,
    Event,
    JobSubmitted,
    Record,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.model import INIT_PREFIX, ContextId, Job, Step, StepKind

#: What a step is taken to last when neither a run nor the spec says; only ratios matter then.
UNKNOWN_SECONDS = 1.0


@dataclass(slots=True)
class Mean:
    """A running mean."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """Take one more value into account."""
        self.total += value
        self.count += 1

    @property
    def value(self) -> float:
        """The mean of all values; 0 before the first."""
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class Estimates:
    """Expected durations and sizes; `saw` refines them with every event."""

    #: Seconds of a task by (job, step).
    tasks: dict[tuple[str, str], Mean] = field(default_factory=lambda: defaultdict(Mean))
    #: Seconds of an operation by (kind of event, context).
    operations: dict[tuple[str, ContextId], Mean] = field(default_factory=lambda: defaultdict(Mean))
    #: Device bytes of a context, as last seen.
    resident_bytes: dict[ContextId, int] = field(default_factory=dict)
    #: Seconds from a decision, or the end of what came before, to the start of an operation.
    dispatch: Mean = field(default_factory=Mean)
    #: Seconds from an operation's end to the moment the scheduler heard of it.
    report: Mean = field(default_factory=Mean)

    def saw(self, event: Event) -> None:
        """Learn from an event; those without a duration teach nothing."""
        match event:
            case TaskFinished(task=task):
                self.tasks[task.job, task.step].add(event.finished - event.started)
            case ContextSaved() | ContextEvicted() | ContextRestored() | WeightsLoaded() | ContextCheckpointed():
                self.operations[type(event).__name__, event.context].add(event.finished - event.started)
            case _:
                return

    def knows(self, job: Job) -> bool:
        """Whether every step of a job has a duration, seen or guessed in its spec."""
        return all(self.has_seen(job.name, step) for step in job.steps if step.kind is not StepKind.PROPAGATE)

    def has_seen(self, job: str, step: Step) -> bool:
        """Whether a task's seconds are more than a guess out of nothing."""
        return (job, step.name) in self.tasks or step.expected_seconds is not None

    def task_seconds(self, job: str, step: Step) -> float:
        """What a task of this step is expected to last."""
        mean = self.tasks.get((job, step.name))
        if mean is not None and mean.count:
            return mean.value
        if step.kind in {StepKind.INIT, StepKind.PROPAGATE}:
            return step.expected_seconds or 0.0
        return step.expected_seconds if step.expected_seconds is not None else UNKNOWN_SECONDS

    def operation_seconds(self, event: type[Event], context: ContextId) -> float:
        """What the operation that ends in such an event is expected to last; 0 before one was seen."""
        mean = self.operations.get((event.__name__, context))
        return mean.value if mean is not None else 0.0

    def copy(self) -> Estimates:
        """An independent copy, so that a simulation's own events do not teach the original."""
        return deepcopy(self)

    def take(self, job: str, other: Estimates) -> None:
        """Take over what another run taught about one job."""
        self.tasks.update((key, mean) for key, mean in other.tasks.items() if key[0] == job)
        self.operations.update((key, mean) for key, mean in other.operations.items() if key[1].job == job)
        self.resident_bytes.update((key, size) for key, size in other.resident_bytes.items() if key.job == job)
        self.dispatch, self.report = other.dispatch, other.report


def observe(records: Iterable[Record]) -> Estimates:
    """All that the records of a run teach, the latencies around its operations included."""
    seen = Estimates()
    jobs: dict[str, Job] = {}
    free_at: dict[str, float] = {}
    for record in records:
        event = record.event
        seen.saw(event)
        match event:
            case JobSubmitted(job=job):
                jobs[job.name] = job
            case (
                TaskFinished()
                | ContextSaved()
                | ContextEvicted()
                | ContextRestored()
                | WeightsLoaded()
                | ContextCheckpointed()
            ):
                seen.dispatch.add(max(event.started - free_at.get(event.executor, event.started), 0.0))
                seen.report.add(max(event.at - event.finished, 0.0))
                free_at[event.executor] = event.finished
                _see_bytes(seen, jobs, event)
            case _:
                pass
        for decision in record.decisions:
            if not isinstance(decision, End):
                free_at[decision.executor] = max(event.at, free_at.get(decision.executor, 0.0))
    return seen


def _see_bytes(seen: Estimates, jobs: Mapping[str, Job], event: Event) -> None:
    if not isinstance(event, TaskFinished) or event.resident_bytes is None:
        return
    name = event.task.step.removeprefix(INIT_PREFIX)
    context = next((step.context for step in jobs[event.task.job].steps if step.name == name), name)
    if context is not None:
        key = ContextId(event.task.job, context)
        seen.resident_bytes[key] = max(event.resident_bytes, seen.resident_bytes.get(key, 0))
