"""What happened (past tense) and what to do (imperative): two closed unions of plain data.

Events go into `Scheduler.handle`, decisions come out. Every event carries `at`, seconds since the run began on a
monotonic clock, because the core reads no clock. `started` and `finished` are the operation itself on the same
clock, as the executor measured it; `at` is when the driver learned of it. Sizes are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dagrl.model import ArtifactRef, ContextId, Job, JobStatus, TaskId


@dataclass(frozen=True, slots=True)
class JobSubmitted:
    """A job joins the run."""

    at: float
    job: Job


@dataclass(frozen=True, slots=True)
class JobCancelled:
    """Somebody asked for a job to end now."""

    at: float
    job: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """An attempt ended well and its artifact, if it returned one, is stored."""

    at: float
    task: TaskId
    attempt: int
    executor: str
    started: float
    finished: float
    artifact: ArtifactRef | None = None
    #: What the step logged, name and value, in the order it logged.
    metrics: tuple[tuple[str, float], ...] = ()
    #: Device bytes that the task's context occupies now; None when it has no context.
    resident_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """An attempt ended badly; `error` is one line, the traceback stands in the task's log as well."""

    at: float
    task: TaskId
    attempt: int
    executor: str
    started: float
    finished: float
    error: str
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class ContextSaved:
    """A host copy of a resident context is current now."""

    at: float
    context: ContextId
    executor: str
    started: float
    finished: float
    bytes: int


@dataclass(frozen=True, slots=True)
class ContextEvicted:
    """A context left the device; `bytes` were copied out to get there."""

    at: float
    context: ContextId
    executor: str
    started: float
    finished: float
    bytes: int


@dataclass(frozen=True, slots=True)
class ContextRestored:
    """A context is on the device again; `bytes` were copied in."""

    at: float
    context: ContextId
    executor: str
    started: float
    finished: float
    bytes: int


@dataclass(frozen=True, slots=True)
class WeightsLoaded:
    """A context took the weights that a propagate published."""

    at: float
    context: ContextId
    executor: str
    version: int
    started: float
    finished: float
    bytes: int


@dataclass(frozen=True, slots=True)
class ContextCheckpointed:
    """A durable checkpoint of a context as it is after `iteration`; `digest` is a SHA-256 over its whole state."""

    at: float
    context: ContextId
    executor: str
    iteration: int
    started: float
    finished: float
    path: str
    digest: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ContextDropped:
    """A context and its host copy are gone for good."""

    at: float
    context: ContextId
    executor: str


@dataclass(frozen=True, slots=True)
class ContextFaulted:
    """An operation on a context failed: its state cannot be trusted any more."""

    at: float
    context: ContextId
    executor: str
    operation: str
    error: str
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class ExecutorLost:
    """An executor's process ended and was re-made, empty. Saved host copies survive it."""

    at: float
    executor: str
    #: The job whose operation was being carried out; None when it was idle.
    culprit: str | None
    cause: str


Event: TypeAlias = (
    JobSubmitted
    | JobCancelled
    | TaskFinished
    | TaskFailed
    | ContextSaved
    | ContextEvicted
    | ContextRestored
    | WeightsLoaded
    | ContextCheckpointed
    | ContextDropped
    | ContextFaulted
    | ExecutorLost
)


@dataclass(frozen=True, slots=True)
class Run:
    """Carry out one attempt at a task; the executors in `also` stand by for as long as it runs."""

    task: TaskId
    attempt: int
    executor: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Save:
    """Bring a resident context's host copy up to date, so that the next job cannot harm it."""

    context: ContextId
    executor: str


@dataclass(frozen=True, slots=True)
class Evict:
    """Take a context off the device, saving first what has no current host copy."""

    context: ContextId
    executor: str


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring an evicted context back, building it anew first where its process is gone."""

    context: ContextId
    executor: str


@dataclass(frozen=True, slots=True)
class Load:
    """Take `version` of the weights that step `propagate` of the same job published."""

    context: ContextId
    executor: str
    propagate: str
    version: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Write a durable checkpoint of a resident context as it is after `iteration`."""

    context: ContextId
    executor: str
    iteration: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Forget a context and free all that it holds."""

    context: ContextId
    executor: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Ask a running attempt to stop."""

    task: TaskId
    attempt: int
    executor: str


@dataclass(frozen=True, slots=True)
class End:
    """A job is over; `reason` is one line, empty when all is well. Nothing is left for an executor to do."""

    job: str
    status: JobStatus
    reason: str = ""


#: What an executor carries out.
Operation: TypeAlias = Run | Save | Evict | Restore | Load | Checkpoint | Drop | Cancel
Decision: TypeAlias = Operation | End


@dataclass(frozen=True, slots=True)
class Record:
    """One turn of the scheduler: what happened and what it decided. A run is the list of its records."""

    event: Event
    decisions: tuple[Decision, ...] = ()


def job_of(decision: Decision) -> str:
    """The job that a decision is for."""
    match decision:
        case Run(task=task) | Cancel(task=task):
            return task.job
        case End(job=job):
            return job
        case _:
            return decision.context.job


EVENTS: tuple[type[Event], ...] = Event.__args__
DECISIONS: tuple[type[Decision], ...] = Decision.__args__
