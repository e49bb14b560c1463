"""Seats a new job among thousands of running ones without moving anybody: least marginal rent, then best fit.

Keeps the groups sorted by how long their iterations may take, because jobs of one pace share best, and then by the
share of their dearest nodes that is free when everybody goes at the slowest pace, so that groups without room are
never looked at. A seat is judged by the load that is needed, the host memory, and the closed form that is enough; only
between the two is the group simulated, and only a few times per job.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, combinations, islice, product
from math import floor, log2

from dagrl.errors import InvariantError, UsageError
from dagrl.placement.cycle import load_fits, node_shares, round_fits
from dagrl.placement.ledger import shortage
from dagrl.placement.model import ROUNDING, Fleet, Group, LoopingJob, Node, Seat, Way, alone_seat, widest
from dagrl.placement.seating import Seating
from dagrl.placement.settle import Rentals

#: Groups that are simulated for one job and one marginal rent, those with the emptiest nodes first.
SIMULATED_PER_RENT = 2
#: Groups that are looked at for one job, one marginal rent and one class of pace: the tightest fits, then the roomiest.
LOOKED_AT = 6
#: Classes of pace to each side of a job's own that are looked at, and classes per doubling.
PACES_ASIDE = 2
PACES_PER_DOUBLING = 2


@dataclass(frozen=True, slots=True)
class _Entry:
    """A group with what admission asks of it again and again."""

    group: Group
    #: Share of each node that is taken at the slowest pace.
    shares: dict[Node, float]
    nodes: dict[str, list[Node]]
    pace: int
    #: Share of its emptiest dearest node that is free.
    room: float

    @classmethod
    def of(cls, group: Group, fleet: Fleet) -> _Entry:
        shares = node_shares(group.seats)
        nodes = {kind.pool: sorted(node for node in group.nodes if node.pool == kind.pool) for kind in fleet.kinds}
        room = 1.0 - min((shares[node] for node in nodes[fleet.dearest]), default=0.0)
        return cls(group, shares, nodes, _pace(min(seat.job.slowest_seconds for seat in group.seats)), room)


class Admission:
    """The running groups, and where a new job fits among them."""

    def __init__(self, seating: Seating) -> None:
        self.seating = seating
        self.rentals = Rentals()
        self._entries: dict[int, _Entry] = {}
        self._number_of: dict[str, int] = {}
        #: By class of pace: (room, number) of its groups.
        self._by_room: dict[int, list[tuple[float, int]]] = {}
        self._next = 0

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, the oldest first."""
        return tuple(entry.group for entry in self._entries.values())

    def group_of(self, name: str) -> Group:
        """The group of a running job. Raises InvariantError for a job that is not here."""
        if name not in self._number_of:
            raise InvariantError(f"job {name!r} has no seat")
        return self._entries[self._number_of[name]].group

    def roomiest(self, count: int) -> tuple[Group, ...]:
        """The groups with most room on their dearest nodes."""
        roomy = sorted((entry for paced in self._by_room.values() for entry in paced[-count:]), reverse=True)
        return tuple(self._entries[number].group for _, number in roomy[:count])

    def replace(self, left: Iterable[Group], entered: Iterable[Group]) -> None:
        """Swap groups for others."""
        for group in left:
            number = self._number_of[group.seats[0].job.name]
            for name in group.names:
                del self._number_of[name]
            entry = self._entries.pop(number)
            paced = self._by_room[entry.pace]
            del paced[bisect_left(paced, (entry.room, number))]
        for group in entered:
            number, self._next = self._next, self._next + 1
            entry = self._entries[number] = _Entry.of(group, self.seating.fleet)
            self.rentals.note(group.nodes)
            self._number_of.update(dict.fromkeys(group.names, number))
            insort(self._by_room.setdefault(entry.pace, []), (entry.room, number))

    def admit(self, job: LoopingJob) -> Group:
        """Seat this job, and return its group.

        Raises UsageError if no way of the job fits the host memory of a node, with the numbers.
        """
        alone = self._alone(job)
        found = self._shared(job, self.seating.fleet.rent(alone.nodes))
        if found is None:
            self.replace((), (alone,))
            return alone
        host, group = found
        self.replace((host,), (group,))
        return group

    def _alone(self, job: LoopingJob) -> Group:
        """On nodes of its own, in its first way that keeps the promise, which leaves most room, else in the fastest."""
        fresh = {kind.pool: self.rentals.next_nodes(kind.pool, widest(job)) for kind in self.seating.fleet.kinds}
        seats = [alone_seat(job, way, fresh) for way in job.ways]
        refusals = [shortage([seat], self.seating.fleet) for seat in seats]
        groups = [self.seating.time([seat]) for seat, refusal in zip(seats, refusals, strict=True) if refusal is None]
        if not groups:
            raise UsageError(f"job {job.name!r} fits no node: {'; '.join(filter(None, refusals))}")
        kept = [group for group in groups if group.keeps_promises]
        return kept[0] if kept else min(groups, key=lambda group: group.slowdowns)

    def _shared(self, job: LoopingJob, rent_alone: float) -> tuple[Group, Group] | None:
        """A running group that has room, and what it becomes."""
        for extra in self._extra_rents(job, rent_alone):
            doubtful: list[tuple[float, int, Group, tuple[Seat, ...]]] = []
            for host, seats, fullest in self._fitting(job, extra):
                if round_fits(seats):
                    return host, self.seating.time(seats)
                doubtful.append((fullest, len(doubtful), host, seats))
            for _, _, host, seats in nsmallest(SIMULATED_PER_RENT, doubtful):
                if self.seating.time_first(seats).keeps_promises:
                    return host, self.seating.time(seats)
        return None

    def _fitting(self, job: LoopingJob, extra: float) -> Iterator[tuple[Group, tuple[Seat, ...], float]]:
        """Groups with this job in them that pass what is needed, and the share of their fullest node."""
        plans = list(self._plans(job, extra))
        for entry in self._roomy(job):
            if len(entry.group.seats) >= self.seating.rules.max_group_size:
                continue
            for way, fresh in plans:
                choices = [
                    [(*shared, *new) for shared in combinations(entry.nodes[phase.pool], phase.nodes - len(new))]
                    for phase, new in zip(way.phases, fresh, strict=True)
                ]
                for nodes in product(*choices):
                    seat = Seat(job, way, nodes)
                    fullest = _fullest(seat, entry.shares)
                    seats = (*entry.group.seats, seat)
                    if fullest <= 1 + ROUNDING and load_fits(seats) and shortage(seats, self.seating.fleet) is None:
                        yield entry.group, seats, fullest

    def _roomy(self, job: LoopingJob) -> Iterator[_Entry]:
        """Groups that may have room, those of the job's own pace first, of these the fullest first."""
        own, least = _pace(job.slowest_seconds), self._least_share(job)
        for pace in sorted(range(own - PACES_ASIDE, own + PACES_ASIDE + 1), key=lambda pace: (abs(pace - own), pace)):
            paced = self._by_room.get(pace, [])
            start = bisect_left(paced, (least, -1))
            roomiest = max(start + LOOKED_AT, len(paced) - LOOKED_AT)
            for _, number in chain(islice(paced, start, start + LOOKED_AT), paced[roomiest:]):
                yield self._entries[number]

    def _extra_rents(self, job: LoopingJob, rent_alone: float) -> list[float]:
        """What could be paid for nodes beside a group's own, if it is less than for nodes of the job's own."""
        rents = {self._extra_rent(way, counts) for way in job.ways for counts in self._fresh_counts(way)}
        return sorted(rent for rent in rents if rent < rent_alone)

    def _plans(self, job: LoopingJob, extra: float) -> Iterator[tuple[Way, list[tuple[Node, ...]]]]:
        """Ways of running beside others for exactly this extra rent, with each phase's new nodes."""
        for way in job.ways:
            for counts in self._fresh_counts(way):
                if self._extra_rent(way, counts) == extra:
                    yield (
                        way,
                        [
                            self.rentals.next_nodes(phase.pool, count)
                            for phase, count in zip(way.phases, counts, strict=True)
                        ],
                    )

    def _fresh_counts(self, way: Way) -> Iterator[tuple[int, ...]]:
        """How many of each phase's nodes could be new; a group's dearest nodes are never more than it has."""
        dearest = self.seating.fleet.dearest
        return product(*(range(1 if phase.pool == dearest else phase.nodes + 1) for phase in way.phases))

    def _extra_rent(self, way: Way, counts: Sequence[int]) -> float:
        """Dollars per hour of so many new nodes; phases of one pool use the same ones."""
        new: dict[str, int] = {}
        for phase, count in zip(way.phases, counts, strict=True):
            new[phase.pool] = max(new.get(phase.pool, 0), count)
        return round(sum(self.seating.fleet.dollars[pool] * count for pool, count in new.items()), 6)

    def _least_share(self, job: LoopingJob) -> float:
        """Share of a dearest node that the job needs at least, whatever its way."""
        dearest = self.seating.fleet.dearest
        return (
            min(max((phase.seconds for phase in way.phases if phase.pool == dearest), default=0.0) for way in job.ways)
            / job.slowest_seconds
        )


def _pace(seconds: float) -> int:
    """The class of iterations that take about so long."""
    return floor(PACES_PER_DOUBLING * log2(seconds))


def _fullest(seat: Seat, taken: dict[Node, float]) -> float:
    """Share of the fullest of the seat's nodes with its job on it, switches left out."""
    added: dict[Node, float] = {}
    for phase, nodes in zip(seat.way.phases, seat.nodes, strict=True):
        for node in nodes:
            added[node] = added.get(node, taken.get(node, 0.0)) + phase.seconds / seat.job.slowest_seconds
    return max(added.values())
