"""dagrl's own placement: admit at once without moving anybody, pack anew when that pays.

Owns the order of the two, what is learned about how long jobs live, and the decision to move: only if what is saved
until the next of the moved jobs is expected to leave is more than the moves cost, or if a promise would be broken
otherwise. Moves take effect at the end of each job's iteration, while all others run on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dagrl.errors import InvariantError
from dagrl.placement.admission import Admission
from dagrl.placement.consolidate import LEAST_GAIN, Consolidation, Share, Worth, group_dollars
from dagrl.placement.model import Fleet, Group, LoopingJob, Move, Seat
from dagrl.placement.seating import Seating, SeatingRules
from dagrl.placement.settle import moves, settle

#: Hours that a job is expected to live before any has ended.
FIRST_GUESS_HOURS = 8.0
#: Groups that one search looks at: the touched one, and those with most room.
WINDOW = 16


@dataclass(frozen=True, slots=True)
class ConsolidationRules:
    """How groups are made, what they are judged by, and whether they are ever packed anew."""

    seating: SeatingRules = field(default_factory=SeatingRules)
    worth: Worth = field(default_factory=Worth)
    #: Groupings built from nothing, in so many orders, that compete with the present one.
    rebuilds: int = 0


class ConsolidatedPlacement:
    """Online admission and consolidation over one cost model."""

    def __init__(self, fleet: Fleet, rules: ConsolidationRules | None = None) -> None:
        self.fleet = fleet
        self.rules = rules or ConsolidationRules()
        self.seating = Seating(fleet, self.rules.seating)
        self.admission = Admission(self.seating)
        #: Jobs whose groups have changed since the last search.
        self._touched: Share = frozenset()
        self._since: dict[str, float] = {}
        self._lived_seconds = 0.0
        self._ended = 0

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups of running jobs."""
        return self.admission.groups

    def arrive(self, job: LoopingJob, at: float) -> None:
        """Admit the job beside others or alone. Raises UsageError if its state fits the memory of no node."""
        self._touched |= self.admission.admit(job).names
        self._since[job.name] = at

    def depart(self, name: str, at: float) -> None:
        """Give back the nodes that nobody else uses. Raises InvariantError for a job that has no seat."""
        group = self.admission.group_of(name)
        self._lived_seconds += at - self._since.pop(name)
        self._ended += 1
        self.seating.forget(name)
        rest = [seat for seat in group.seats if seat.job.name != name]
        self.admission.replace((group,), (self.seating.time(rest),) if rest else ())
        self._touched = (self._touched | group.names) - {name}

    def drift(self, job: LoopingJob, at: float) -> None:  # noqa: ARG002 - as every placement is asked
        """Time the job's group anew. Raises InvariantError for a job that has no seat."""
        group = self.admission.group_of(job.name)
        self.seating.forget(job.name)
        seats = [_with_durations(seat, job) if seat.job.name == job.name else seat for seat in group.seats]
        self.admission.replace((group,), (self.seating.time(seats),))
        self._touched |= group.names

    def repack(self, at: float) -> tuple[Move, ...]:
        """Search among the groups that have changed and those with most room, and move jobs if it pays.

        Jobs that have arrived at this very moment have not begun: they change seats for nothing, and are not named.
        """
        touched, self._touched = self._touched, frozenset()
        newcomers = frozenset(name for name in touched if self._since[name] == at)
        before = self._window(touched)
        jobs = {seat.job.name: seat.job for group in before for seat in group.seats}
        search = Consolidation(self.seating, self.rules.worth, jobs, newcomers, self._lasting_hours(at))
        starts = [[group.names for group in before]]
        starts += [search.build(order) for order in _orders(jobs.values())[: self.rules.rebuilds]]
        best, best_gain, best_moves = before, LEAST_GAIN, tuple[Move, ...]()
        for start in starts:
            wished = [self._cheapest(share, before, search) for share in search.improve(start)]
            if None in wished:  # the search ran out of steps before every promise was kept
                continue
            after = settle(before, [group for group in wished if group is not None], self.admission.rentals)
            moved = tuple(move for move in moves(before, after) if move.job not in newcomers)
            gain = self._dollars(before) - self._dollars(after) - sum(search.price[move.job] for move in moved)
            if gain > best_gain:
                best, best_gain, best_moves = after, gain, moved
        kept, known = set(best), set(before)
        left = [group for group in before if group not in kept]
        self.admission.replace(left, (group for group in best if group not in known))
        return best_moves

    def _cheapest(self, share: Share, before: Sequence[Group], search: Consolidation) -> Group | None:
        """The present group of these jobs, unless other seats save more than moving its jobs costs."""
        present = next((group for group in before if group.names == share), None)
        best = self.seating.best(search.jobs[name] for name in share)
        if best is None or present is None:
            return best or present
        saved = self._dollars([present]) - self._dollars([best])
        return best if saved > min(search.price[name] for name in share) else present

    def _dollars(self, groups: Iterable[Group]) -> float:
        return sum(group_dollars(group, self.fleet, self.rules.worth) for group in groups)

    def _lasting_hours(self, at: float) -> float:
        """Hours until the first of a full group is expected to leave, from all lives seen so far, ended or not."""
        if not self._ended:
            return FIRST_GUESS_HOURS / self.rules.seating.max_group_size
        lived = self._lived_seconds + sum(at - since for since in self._since.values())
        return max(lived / self._ended / 3600, 0.1) / self.rules.seating.max_group_size

    def _window(self, touched: Share) -> tuple[Group, ...]:
        groups = self.admission.groups
        if len(groups) <= WINDOW:
            return groups
        near = [group for group in groups if group.names & touched]
        roomy = [group for group in self.admission.roomiest(WINDOW) if not group.names & touched]
        return (*near, *roomy)


def _with_durations(seat: Seat, job: LoopingJob) -> Seat:
    way = next((way for way in job.ways if way.name == seat.way.name), None)
    if way is None:
        raise InvariantError(f"job {job.name!r} no longer knows the way {seat.way.name!r} in which it runs")
    return Seat(job, way, seat.nodes)


def _orders(jobs: Iterable[LoopingJob]) -> list[list[str]]:
    """Orders in which groupings are built from nothing: the slowest first, the most patient last, and by kind."""
    jobs = list(jobs)
    return [
        [job.name for job in sorted(jobs, key=lambda job: (-job.slowest_seconds, job.name))],
        [job.name for job in sorted(jobs, key=lambda job: (job.max_slowdown, job.name))],
        [job.name for job in sorted(jobs, key=lambda job: (-job.alone_seconds, job.max_slowdown, job.name))],
    ]
