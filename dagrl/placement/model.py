"""The words of placement: what is known of a long-running job, the nodes that can be rented, and who sits where.

Owns frozen dataclasses and the questions they answer about themselves; no rule. A job is not a DAG here but its loop:
phases that follow each other every iteration, each on nodes of one pool. A job may know several ways to run its loop
(sampling on nodes of its own, or on the trainer's), and placement chooses one. Jobs that share a node are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of a job's loop on whole nodes of one pool."""

    pool: str
    seconds: float
    nodes: int = 1
    #: Seconds lost before it on a node that other jobs use too; nothing on a node of its own.
    switch_seconds: float = 0.0
    #: What the job keeps in the host memory of each of its nodes, so that a switch is warm.
    host_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a job's loop: its phases in order, and the handing over of weights after the last of them."""

    name: str
    phases: tuple[Phase, ...]
    #: Holds the nodes of the last phase.
    sync_seconds: float = 0.0


@dataclass(frozen=True)
class LoopingJob:
    """A long-running job as placement sees it. The first way is how it would run alone."""

    name: str
    ways: tuple[Way, ...]
    #: Largest slowdown that its owner accepts; above 1.
    max_slowdown: float
    max_staleness: int = 0
    #: Seconds without work when it moves to other nodes.
    move_seconds: float = 0.0

    @cached_property
    def alone_seconds(self) -> float:
        """Seconds of an iteration on nodes of its own, weights handed over in no time."""
        return sum(phase.seconds for phase in self.ways[0].phases)

    @cached_property
    def slowest_seconds(self) -> float:
        """Seconds that an iteration may take."""
        return self.max_slowdown * self.alone_seconds


@dataclass(frozen=True, slots=True)
class NodeKind:
    """What the nodes of one pool cost and hold."""

    pool: str
    dollars_per_hour: float
    #: Host memory for the jobs' states; None: no limit.
    host_bytes: int | None = None


@dataclass(frozen=True)
class Fleet:
    """The kinds of nodes that can be rented, as many as one likes."""

    kinds: tuple[NodeKind, ...]

    @cached_property
    def dollars(self) -> dict[str, float]:
        """Dollars per hour of one node, by pool."""
        return {kind.pool: kind.dollars_per_hour for kind in self.kinds}

    @cached_property
    def host_bytes(self) -> dict[str, int | None]:
        """Host memory of one node, by pool."""
        return {kind.pool: kind.host_bytes for kind in self.kinds}

    @cached_property
    def dearest(self) -> str:
        """The pool whose nodes cost most; of equals, the one named first."""
        return max(self.kinds, key=lambda kind: kind.dollars_per_hour).pool

    def rent(self, nodes: Iterable[Node]) -> float:
        """Dollars per hour of these nodes; the same to the last bit in whatever order they come."""
        pools = [node.pool for node in nodes]
        return sum(kind.dollars_per_hour * pools.count(kind.pool) for kind in self.kinds)

    def alone_rent(self, way: Way) -> float:
        """Dollars per hour of a job that runs this way on nodes of its own."""
        widest: dict[str, int] = {}
        for phase in way.phases:
            widest[phase.pool] = max(widest.get(phase.pool, 0), phase.nodes)
        return sum(count * self.dollars[pool] for pool, count in widest.items())


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """One machine; prints as `train3`."""

    pool: str
    number: int

    def __str__(self) -> str:
        return f"{self.pool}{self.number}"


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a job runs: the way it runs, and the nodes of each of its phases."""

    job: LoopingJob
    way: Way
    nodes: tuple[tuple[Node, ...], ...]


class Rule(StrEnum):
    """Who goes first on a free node."""

    #: One iteration of each job per round.
    ROUND_ROBIN = "round-robin"
    #: Who has been ready longest: RollMux's queues.
    FCFS = "fcfs"
    #: Who is closest to breaking its promise: the least iterations done, in units of its slowest pace.
    LAG = "lag"


@dataclass(frozen=True, eq=False)
class Group:
    """Jobs that share nodes, and how fast each of them goes: its slowdown, in the order of the seats.

    A group is equal to itself alone: who is replaced by an equal one has been replaced.
    """

    seats: tuple[Seat, ...]
    slowdowns: tuple[float, ...]
    #: The dispatch rule that makes them go so fast.
    rule: Rule

    @cached_property
    def nodes(self) -> frozenset[Node]:
        """All nodes that its jobs use."""
        return nodes_of(self.seats)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of its jobs."""
        return frozenset(seat.job.name for seat in self.seats)

    @property
    def speed(self) -> float:
        """Work done per time: a job at full speed counts 1."""
        return sum(1 / slowdown for slowdown in self.slowdowns)

    @property
    def keeps_promises(self) -> bool:
        """Whether every job stays within its largest slowdown, up to the rounding of sums."""
        return all(
            slowdown <= seat.job.max_slowdown * (1 + ROUNDING)
            for seat, slowdown in zip(self.seats, self.slowdowns, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Move:
    """A job's change of seat, to be made at the end of its iteration."""

    job: str
    source: Seat
    target: Seat


#: Relative error that sums of durations may have before a promise counts as broken.
ROUNDING = 1e-6


def nodes_of(seats: Iterable[Seat]) -> frozenset[Node]:
    """All nodes that these seats use."""
    return frozenset(node for seat in seats for nodes in seat.nodes for node in nodes)


def widest(job: LoopingJob) -> int:
    """The most nodes that any of the job's phases needs at once."""
    return max(phase.nodes for way in job.ways for phase in way.phases)


def alone_seat(job: LoopingJob, way: Way, nodes: Mapping[str, Sequence[Node]]) -> Seat:
    """The job's seat on the first nodes of these, by pool."""
    return Seat(job, way, tuple(tuple(nodes[phase.pool][: phase.nodes]) for phase in way.phases))
