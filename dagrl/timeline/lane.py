"""One executor's time: what it did, span by span, and what it does now.

Owns the words for how time is spent (computing, switching, checkpointing, lost, waiting, idle) and their sums, which
are kept up to date as spans arrive because a live display asks for them several times a second.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from dagrl.events import Cancel, Operation, Run, job_of
from dagrl.model import ContextId, TaskId


class SpanKind(StrEnum):
    """What an executor did during a span."""

    COMPUTE = "compute"
    LOAD = "load"
    SAVE = "save"
    EVICT = "evict"
    RESTORE = "restore"
    CHECKPOINT = "checkpoint"
    #: What ran when the executor's process ended.
    LOST = "lost"


#: A step's own work. Loading published weights is the receiving half of a propagate step.
COMPUTING = (SpanKind.COMPUTE, SpanKind.LOAD)
#: What only sharing the executor costs.
SWITCHING = (SpanKind.SAVE, SpanKind.EVICT, SpanKind.RESTORE)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one executor's time, in seconds since the run began."""

    kind: SpanKind
    start: float
    end: float
    job: str
    task: TaskId | None = None
    context: ContextId | None = None
    #: Bytes that were copied.
    bytes: int = 0
    #: False when it ended in a failure.
    ok: bool = True

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start

    @property
    def label(self) -> str:
        """The step, or what was done to a context."""
        return self.task.step if self.task is not None else self.kind.value


@dataclass(frozen=True, slots=True)
class Pending:
    """An operation that was decided and has not been reported: since when it waits, or runs."""

    operation: Operation
    since: float

    @property
    def verb(self) -> str:
        """What is done, in lower case: `run`, `save`, `evict`, ..."""
        return type(self.operation).__name__.lower()

    @property
    def job(self) -> str:
        """The job that it is done for."""
        return job_of(self.operation)

    @property
    def subject(self) -> str:
        """What it is done to: `gcd/3/train`, `gcd/actor`."""
        return str(self.operation.task if isinstance(self.operation, Run | Cancel) else self.operation.context)


@dataclass(slots=True)
class Total:
    """The sum over all spans of one kind."""

    count: int = 0
    seconds: float = 0.0
    bytes: int = 0


@dataclass(slots=True)
class Lane:
    """One executor: its spans in the order they ended.

    Computing, switching, checkpointing, lost, waiting and idle seconds add up to the whole time.
    """

    executor: str
    spans: list[Span] = field(default_factory=list)
    totals: dict[SpanKind, Total] = field(default_factory=lambda: defaultdict(Total))
    #: Decided and not yet reported, in the order in which they are carried out.
    pending: deque[Pending] = field(default_factory=deque)

    def append(self, span: Span) -> None:
        """Add the span that ended last."""
        self.spans.append(span)
        total = self.totals[span.kind]
        total.count += 1
        total.seconds += span.seconds
        total.bytes += span.bytes

    def settle(self, belongs: Callable[[Operation], bool]) -> Pending | None:
        """Strike the first pending operation that `belongs`, and those before it, which had nothing to tell."""
        for index, pending in enumerate(self.pending):
            if belongs(pending.operation):
                for _ in range(index + 1):
                    self.pending.popleft()
                return self._begun(pending)
        return None

    @property
    def running(self) -> Pending | None:
        """What it carries out now; None when it waits for work."""
        return self._begun(self.pending[0]) if self.pending else None

    def _begun(self, pending: Pending) -> Pending:
        return Pending(pending.operation, max(pending.since, self.last_end))

    @property
    def last_end(self) -> float:
        """When its last span ended; 0 before there was one."""
        return self.spans[-1].end if self.spans else 0.0

    def seconds(self, *kinds: SpanKind) -> float:
        """Seconds spent in spans of these kinds."""
        return sum(self.totals[kind].seconds for kind in kinds)

    def bytes(self, *kinds: SpanKind) -> int:
        """Bytes copied in spans of these kinds."""
        return sum(self.totals[kind].bytes for kind in kinds)

    @property
    def computing_seconds(self) -> float:
        """Seconds of steps' own work, weight loading included."""
        return self.seconds(*COMPUTING)

    @property
    def switching_seconds(self) -> float:
        """Seconds of saving, evicting and restoring."""
        return self.seconds(*SWITCHING)

    @property
    def switches(self) -> int:
        """How often a context that had left the device was brought back."""
        return self.totals[SpanKind.RESTORE].count

    @property
    def waiting_seconds(self) -> float:
        """Seconds between its first and its last span in which nothing was ready for it."""
        if not self.spans:
            return 0.0
        return max(0.0, self.last_end - self.spans[0].start - self.seconds(*SpanKind))

    def idle_seconds(self, end: float) -> float:
        """Seconds before its first and after its last span, up to `end`."""
        return max(0.0, end - self.last_end + self.spans[0].start) if self.spans else end

    def duty_cycle(self, end: float) -> float:
        """Share of the seconds up to `end` that it computed steps."""
        return self.computing_seconds / end if end > 0 else 0.0
