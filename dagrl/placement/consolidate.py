"""Packs running jobs anew when jobs have come, gone or drifted: local search over who shares nodes with whom.

Starts from the groups as they are, and from groupings built from nothing in several orders, and takes the best step
there is (a job moves, two swap, two groups merge) until none pays. A step pays in dollars per hour: rent saved and
speed gained, less the cost of moving, spread over the time that the saving is expected to last. Equal input gives
equal steps. It judges groups by `Seating` alone, so every group it proposes keeps all promises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dagrl.placement.model import Fleet, Group, LoopingJob
from dagrl.placement.seating import Seating

#: Names of jobs that share nodes.
Share: TypeAlias = frozenset[str]
#: Dollars per hour that each job of a group which cannot keep its promises counts.
BROKEN_DOLLARS = 1e6
#: Dollars per hour below which a gain is rounding.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, slots=True)
class Worth:
    """What groupings are judged by."""

    #: What running at full speed is worth, as a share of the rent that the job would pay alone.
    speed_share: float = 0.2
    #: Dollars that a move costs beside the rent while the job stands still.
    move_dollars: float = 3.0
    #: Most steps of one search.
    steps: int = 60


@dataclass(frozen=True, slots=True)
class Step:
    """Groups that go, groups that come instead, and the jobs that are moved for it."""

    left: tuple[Share, ...]
    entered: tuple[Share, ...]
    movers: Share


class Consolidation:
    """One search over the groupings of these jobs; `newcomers` are jobs that have no seat yet and move for nothing."""

    def __init__(
        self, seating: Seating, worth: Worth, jobs: Mapping[str, LoopingJob], newcomers: Share, lasting_hours: float
    ) -> None:
        self.seating = seating
        self.worth = worth
        self.jobs = jobs
        self._dollars: dict[Share, float] = {}
        #: Dollars per hour that each job's move must save.
        self.price = {
            name: 0.0 if name in newcomers else move_dollars(job, seating.fleet, worth) / lasting_hours
            for name, job in jobs.items()
        }

    def improve(self, shares: Iterable[Share]) -> list[Share]:
        """The grouping that the steps lead to from here."""
        current = list(shares)
        for _ in range(self.worth.steps):
            gain, step = self._best_step(current)
            if step is None or gain < LEAST_GAIN:
                break
            current = [share for share in current if share not in step.left] + [
                share for share in step.entered if share
            ]
        return current

    def build(self, order: Sequence[str]) -> list[Share]:
        """A grouping made from nothing: each job in turn joins the group that becomes least dear by it."""
        built: list[Share] = []
        for name in order:
            added = {share: self.dollars(share | {name}) - self.dollars(share) for share in [*built, frozenset[str]()]}
            host = min(added, key=lambda share: (added[share], sorted(share)))
            built = [share for share in built if share != host] + [host | {name}]
        return built

    def dollars(self, share: Share) -> float:
        """Dollars per hour of a group: its rent, less what its jobs' speed is worth."""
        if share not in self._dollars:
            self._dollars[share] = self._judge(share)
        return self._dollars[share]

    def _judge(self, share: Share) -> float:
        if not share:
            return 0.0
        group = self.seating.best(self.jobs[name] for name in share)
        if group is None:
            return BROKEN_DOLLARS * len(share)
        return group_dollars(group, self.seating.fleet, self.worth)

    def _best_step(self, current: Sequence[Share]) -> tuple[float, Step | None]:
        best_gain, best = 0.0, None
        for step in _steps(current):
            gain = sum(map(self.dollars, step.left)) - sum(self.price[name] for name in sorted(step.movers))
            for share in step.entered:
                gain -= self.dollars(share)
                if gain <= best_gain:
                    break
            if gain > best_gain + LEAST_GAIN:
                best_gain, best = gain, step
        return best_gain, best


def group_dollars(group: Group, fleet: Fleet, worth: Worth) -> float:
    """Dollars per hour of a group: its rent, less what its jobs' speed is worth; dear if it breaks a promise."""
    speed = sum(
        fleet.alone_rent(seat.job.ways[0]) / slowdown
        for seat, slowdown in zip(group.seats, group.slowdowns, strict=True)
    )
    broken = 0.0 if group.keeps_promises else BROKEN_DOLLARS * len(group.seats)
    return fleet.rent(group.nodes) - worth.speed_share * speed + broken


def move_dollars(job: LoopingJob, fleet: Fleet, worth: Worth) -> float:
    """Dollars that one move of this job costs: a fee, and its rent while it stands still."""
    return worth.move_dollars + fleet.alone_rent(job.ways[0]) * job.move_seconds / 3600


def _steps(current: Sequence[Share]) -> Iterator[Step]:
    for index, one in enumerate(current):
        for name in sorted(one):
            alone = frozenset({name})
            if len(one) > 1:
                yield Step((one,), (alone, one - alone), alone)
            for other in current:
                if other is not one:
                    yield Step((one, other), (other | alone, one - alone), alone)
        for other in current[index + 1 :]:
            smaller, larger = sorted((one, other), key=len)
            yield Step((one, other), (larger | smaller,), smaller)
            for name in sorted(one):
                for swapped in sorted(other):
                    pair = frozenset({name, swapped})
                    yield Step((one, other), (one ^ pair, other ^ pair), pair)
