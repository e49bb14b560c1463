"""RollMux's inter-group scheduling, algorithm 1 of arXiv 2512.11306, as published: greedy, and never regrouping.

A new job goes where the rent grows least: onto nodes that a group has (direct packing), onto the group's trainers
with sampling nodes of its own (rollout scaling), or into a group of its own. A candidate in which any member would
exceed its largest slowdown is refused; of equals the oldest group wins. A departure leaves the group as it is. The
group's trainers are never more than its first job brought.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from dagrl.errors import InvariantError
from dagrl.placement.model import Fleet, Group, LoopingJob, Move, Node, Rule, Seat
from dagrl.placement.pace import fastest
from dagrl.placement.settle import Rentals


class RollmuxPlacement:
    """Algorithm 1. Jobs run in their first way: sampling on one pool, training on the dearest."""

    def __init__(self, fleet: Fleet, max_group_size: int = 5, rule: Rule = Rule.FCFS) -> None:
        self.fleet = fleet
        self.max_group_size = max_group_size
        #: How members' iterations are timed: FCFS queues as its runtime has them, or rounds as in its theorem.
        self.rule = rule
        self.rentals = Rentals()
        self._groups: dict[int, Group] = {}
        self._next = 0

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, the oldest first."""
        return tuple(self._groups.values())

    def arrive(self, job: LoopingJob, at: float) -> None:  # noqa: ARG002 - as every placement is asked
        """Seat it where the rent grows least."""
        alone = self._time((self._seat(job, frozenset()),))
        best_rent, best_number, best = self.fleet.rent(alone.nodes), self._next, alone
        for number, group in self._groups.items():
            if len(group.seats) >= self.max_group_size:
                continue
            for seat in self._candidates(group, job):
                joined = (*group.seats, seat)
                nodes = frozenset(node for nodes in seat.nodes for node in nodes)
                rent = self.fleet.rent(nodes - group.nodes)
                if rent < best_rent and (timed := self._time(joined)).keeps_promises:
                    best_rent, best_number, best = rent, number, timed
        self._next += best_number == self._next
        self._groups[best_number] = best
        self.rentals.note(best.nodes)

    def depart(self, name: str, at: float) -> None:  # noqa: ARG002 - as every placement is asked
        """Give back the nodes that nobody else uses. Raises InvariantError for a job that has no seat."""
        number = self._number_of(name)
        seats = tuple(seat for seat in self._groups[number].seats if seat.job.name != name)
        if seats:
            self._groups[number] = self._time(seats)
        else:
            del self._groups[number]

    def drift(self, job: LoopingJob, at: float) -> None:  # noqa: ARG002 - as every placement is asked
        """Time its group anew; nobody moves."""
        number = self._number_of(job.name)
        self._groups[number] = self._time(
            tuple(
                Seat(job, job.ways[0], seat.nodes) if seat.job.name == job.name else seat
                for seat in self._groups[number].seats
            )
        )

    def repack(self, at: float) -> tuple[Move, ...]:  # noqa: ARG002 - as every placement is asked
        """Nobody ever moves."""
        return ()

    def _candidates(self, group: Group, job: LoopingJob) -> Iterator[Seat]:
        """Direct packing in every combination of the group's nodes, then rollout scaling."""
        there = {kind.pool: sorted(node for node in group.nodes if node.pool == kind.pool) for kind in self.fleet.kinds}
        trainers = there[self.fleet.dearest]
        way = job.ways[0]
        if any(len(trainers) < phase.nodes for phase in way.phases if phase.pool == self.fleet.dearest):
            return
        sampling = next((phase for phase in way.phases if phase.pool != self.fleet.dearest), None)
        if sampling is not None:
            for nodes in combinations(there[sampling.pool], sampling.nodes):
                yield Seat(
                    job,
                    way,
                    tuple(
                        tuple(trainers[: phase.nodes]) if phase.pool == self.fleet.dearest else nodes[: phase.nodes]
                        for phase in way.phases
                    ),
                )
        yield self._seat(job, frozenset(trainers))

    def _seat(self, job: LoopingJob, trainers: frozenset[Node]) -> Seat:
        """On these trainers, or new ones if there are none; otherwise on new nodes."""
        nodes = []
        for phase in job.ways[0].phases:
            shared = phase.pool == self.fleet.dearest and trainers
            pool = tuple(sorted(trainers)) if shared else self.rentals.next_nodes(phase.pool, phase.nodes)
            nodes.append(pool[: phase.nodes])
        return Seat(job, job.ways[0], tuple(nodes))

    def _time(self, seats: tuple[Seat, ...]) -> Group:
        return fastest(seats, (self.rule,))

    def _number_of(self, name: str) -> int:
        for number, group in self._groups.items():
            if name in group.names:
                return number
        raise InvariantError(f"job {name!r} has no seat")
