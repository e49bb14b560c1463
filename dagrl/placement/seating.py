"""The cheapest seats for a given set of jobs that are to share nodes.

Tries every way of every job and every partition of the jobs over nodes that the necessary conditions allow (load at
the slowest pace, host memory), cheapest first, and takes of the cheapest that keep all promises the fastest. A group
has as many nodes of the dearest pool as its widest job needs; of other pools as many as pay. Results are remembered
by the jobs' names, because search asks for the same sets again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from dagrl.placement.cycle import load_fits
from dagrl.placement.ledger import shortage
from dagrl.placement.model import (
    ROUNDING,
    Fleet,
    Group,
    LoopingJob,
    Node,
    Phase,
    Rule,
    Seat,
    Way,
    alone_seat,
    nodes_of,
    widest,
)
from dagrl.placement.pace import fastest

#: Seatings of one price that are timed, least loaded first.
TIMED_PER_PRICE = 4
#: Jobs of one group that may run in another way than their first.
UNUSUAL_WAYS = 2


@dataclass(frozen=True, slots=True)
class SeatingRules:
    """What a group may look like."""

    #: Dispatch rules that a group may run under; each group gets the one that suits it.
    rules: tuple[Rule, ...] = (Rule.LAG, Rule.FCFS, Rule.ROUND_ROBIN)
    max_group_size: int = 5


class Seating:
    """Seats sets of jobs, remembering what it found."""

    def __init__(self, fleet: Fleet, rules: SeatingRules) -> None:
        self.fleet = fleet
        self.rules = rules
        self._known: dict[frozenset[str], Group | None] = {}

    def best(self, jobs: Iterable[LoopingJob]) -> Group | None:
        """The cheapest group of these jobs that keeps all promises, nodes numbered from 0; None if there is none.

        A job that nothing can keep its promise to still gets the fastest seat alone.
        """
        jobs = tuple(jobs)
        names = frozenset(job.name for job in jobs)
        if names not in self._known:
            ordered = sorted(jobs, key=lambda job: (-widest(job), -job.slowest_seconds, job.name))
            self._known[names] = self._search(ordered) if len(jobs) <= self.rules.max_group_size else None
        return self._known[names]

    def forget(self, name: str) -> None:
        """Drop what was found for sets with this job, because it has left or its durations have changed."""
        self._known = {names: group for names, group in self._known.items() if name not in names}

    def time(self, seats: Sequence[Seat]) -> Group:
        """These seats as they are, with the jobs' slowdowns, promises kept or not."""
        return fastest(seats, self.rules.rules)

    def time_first(self, seats: Sequence[Seat]) -> Group:
        """The same under the first rule alone: quicker, and enough to know that promises can be kept."""
        return fastest(seats, self.rules.rules[:1])

    def _search(self, jobs: Sequence[LoopingJob]) -> Group | None:
        room = {kind.pool: _most_nodes(jobs, kind.pool) for kind in self.fleet.kinds}
        room[self.fleet.dearest] = max((_widest_in(job, self.fleet.dearest) for job in jobs), default=0)
        table = _Table(self.fleet, room)
        found = sorted(
            ((price, fullest, number, seats) for number, (price, fullest, seats) in enumerate(table.seatings(jobs))),
            key=lambda entry: entry[:3],
        )
        best: Group | None = None
        best_speed = timed_price = timed = 0.0
        for price, _, _, seats in found:
            if best is not None and price > timed_price:
                return best
            timed = 0 if price > timed_price else timed
            timed_price = price
            if timed >= TIMED_PER_PRICE or not load_fits(seats) or shortage(seats, self.fleet) is not None:
                continue
            timed += 1
            group = self.time(seats)
            if group.keeps_promises and group.speed > best_speed:
                best, best_speed = group, group.speed
        return best if best is not None or len(jobs) > 1 else self._fastest_alone(jobs[0])

    def _fastest_alone(self, job: LoopingJob) -> Group | None:
        nodes = {kind.pool: [Node(kind.pool, number) for number in range(widest(job))] for kind in self.fleet.kinds}
        seats = [alone_seat(job, way, nodes) for way in job.ways]
        groups = [self.time([seat]) for seat in seats if shortage([seat], self.fleet) is None]
        return min(groups, key=lambda group: group.slowdowns, default=None)


class _Table:
    """Enumerates seats job by job; a node's number is never more than one above those in use, so no two are alike."""

    def __init__(self, fleet: Fleet, room: dict[str, int]) -> None:
        self.fleet = fleet
        self.room = room
        self.share: dict[Node, float] = {}
        self.used: dict[str, int] = dict.fromkeys(room, 0)
        self.seats: list[Seat] = []

    def seatings(self, jobs: Sequence[LoopingJob], unusual: int = 0) -> Iterator[tuple[float, float, tuple[Seat, ...]]]:
        """Rent, share of the fullest node, and seats, of everything whose load could fit."""
        if len(self.seats) == len(jobs):
            rent = round(self.fleet.rent(nodes_of(self.seats)), 6)
            yield rent, max(self.share.values(), default=0.0), tuple(self.seats)
            return
        job = jobs[len(self.seats)]
        for index, way in enumerate(job.ways):
            if index and unusual == UNUSUAL_WAYS:
                return
            for nodes in self._choices(job, way, 0):
                self.seats.append(Seat(job, way, nodes))
                yield from self.seatings(jobs, unusual + (index > 0))
                self.seats.pop()

    def _choices(self, job: LoopingJob, way: Way, index: int) -> Iterator[tuple[tuple[Node, ...], ...]]:
        if index == len(way.phases):
            yield ()
            return
        phase = way.phases[index]
        share = (phase.seconds + (way.sync_seconds if index == len(way.phases) - 1 else 0.0)) / job.slowest_seconds
        before = self.used[phase.pool]
        for numbers in self._numbers(phase):
            nodes = tuple(Node(phase.pool, number) for number in numbers)
            old = [self.share.get(node) for node in nodes]
            if any((taken or 0.0) + share > 1 + ROUNDING for taken in old):
                continue
            for node, taken in zip(nodes, old, strict=True):
                self.share[node] = (taken or 0.0) + share
            self.used[phase.pool] = max(before, numbers[-1] + 1)
            for rest in self._choices(job, way, index + 1):
                yield (nodes, *rest)
            self.used[phase.pool] = before
            for node, taken in zip(nodes, old, strict=True):
                if taken is None:
                    del self.share[node]
                else:
                    self.share[node] = taken

    def _numbers(self, phase: Phase) -> Iterator[tuple[int, ...]]:
        """Numbers of nodes in use, filled up with the next new ones as far as there is room."""
        used = self.used[phase.pool]
        for new in range(phase.nodes + 1):
            if used + new <= self.room[phase.pool]:
                fresh = tuple(range(used, used + new))
                for shared in combinations(range(used), phase.nodes - new):
                    yield shared + fresh


def _widest_in(job: LoopingJob, pool: str) -> int:
    return max((phase.nodes for phase in job.ways[0].phases if phase.pool == pool), default=0)


def _most_nodes(jobs: Sequence[LoopingJob], pool: str) -> int:
    return sum(phase.nodes for job in jobs for way in job.ways for phase in way.phases if phase.pool == pool)
