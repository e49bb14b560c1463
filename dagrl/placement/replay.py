"""Plays a history of arrivals and departures against a placement, and integrates what it costs and what it does.

Jobs leave when the history says so: a slowed job has done less, which the figures per unit of work show. Between two
events every job goes at its group's exact pace. A move costs the job its `move_seconds`, which count as broken
promise, and nodes it leaves stay rented for half an iteration, which is what a move waits on average, and the move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dagrl.placement import Placement
from dagrl.placement.bounds import least_rent, least_work_dollars
from dagrl.placement.model import ROUNDING, Fleet, Group, LoopingJob, Move, Node, nodes_of


@dataclass(frozen=True, slots=True)
class Happening:
    """A job arrives, or, without a job, the named one departs."""

    at: float
    name: str
    job: LoopingJob | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a placement came to over a whole history."""

    dollars_per_hour: float
    #: Dollars for what one job does in one hour at full speed, times the mean number of jobs.
    dollars_per_work_hour: float
    #: Over job time.
    mean_slowdown: float
    max_slowdown: float
    #: Share of job time within the largest slowdown; time spent moving counts as outside.
    attainment: float
    repacks: int
    moves: int
    #: Most nodes rented at once, by pool.
    peak_nodes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What no placement can be below, in dollars per hour."""

    #: All jobs at their slowest pace, whole nodes.
    rent: float
    #: The same with fractions of nodes.
    fractional_rent: float
    #: For the work of all jobs at full speed, nodes always busy.
    work: float


class _Account:
    """Sums over time."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.dollar_seconds = self.job_seconds = self.work_seconds = self.slow_seconds = self.broken_seconds = 0.0
        self.max_slowdown = 0.0
        self.repacks = self.moves = 0
        self.peak: dict[str, int] = {}

    def pass_time(self, groups: Sequence[Group], seconds: float) -> None:
        """Everybody runs for a while."""
        if not seconds:
            return
        self._note_peak(groups)
        for group in groups:
            self.dollar_seconds += self.fleet.rent(group.nodes) * seconds
            for seat, slowdown in zip(group.seats, group.slowdowns, strict=True):
                self.job_seconds += seconds
                self.work_seconds += seconds / slowdown
                self.slow_seconds += seconds * slowdown
                self.max_slowdown = max(self.max_slowdown, slowdown)
                self.broken_seconds += seconds * (slowdown > seat.job.max_slowdown * (1 + ROUNDING))

    def charge(self, moves: Sequence[Move], before: Sequence[Group], after: Sequence[Group]) -> None:
        """Jobs stand still, and what they leave is paid until they have left."""
        self.repacks += bool(moves)
        self.moves += len(moves)
        kept = {node for group in after for node in group.nodes}
        pace = {
            seat.job.name: seat.job.alone_seconds * slowdown
            for group in before
            for seat, slowdown in zip(group.seats, group.slowdowns, strict=True)
        }
        speed = {
            seat.job.name: 1 / slowdown
            for group in after
            for seat, slowdown in zip(group.seats, group.slowdowns, strict=True)
        }
        held: dict[Node, tuple[float, float]] = {}
        for move in moves:
            standing = move.source.job.move_seconds
            self.work_seconds -= standing * speed[move.job]
            self.broken_seconds += standing
            for node in sorted(nodes_of([move.source]) - kept):
                until, _ = held.get(node, (0.0, 0.0))
                held[node] = (max(until, pace[move.job] / 2 + standing), self.fleet.dollars[node.pool])
        self.dollar_seconds += sum(seconds * dollars for seconds, dollars in held.values())

    def _note_peak(self, groups: Sequence[Group]) -> None:
        for kind in self.fleet.kinds:
            rented = sum(node.pool == kind.pool for group in groups for node in group.nodes)
            self.peak[kind.pool] = max(self.peak.get(kind.pool, 0), rented)


def replay(history: Sequence[Happening], placement: Placement, fleet: Fleet) -> Outcome:
    """What this placement makes of this history, which must be in order of time."""
    account = _Account(fleet)
    now = history[0].at
    for happening in history:
        account.pass_time(placement.groups, happening.at - now)
        now = happening.at
        before = tuple(placement.groups)
        if happening.job is None:
            placement.depart(happening.name, now)
        else:
            placement.arrive(happening.job, now)
        account.charge(placement.repack(now), before, placement.groups)
    seconds = now - history[0].at
    dollars = account.dollar_seconds / seconds
    return Outcome(
        dollars_per_hour=dollars,
        dollars_per_work_hour=dollars * account.job_seconds / account.work_seconds,
        mean_slowdown=account.slow_seconds / account.job_seconds,
        max_slowdown=account.max_slowdown,
        attainment=1 - account.broken_seconds / account.job_seconds,
        repacks=account.repacks,
        moves=account.moves,
        peak_nodes=account.peak,
    )


def bound(history: Iterable[Happening], fleet: Fleet) -> Bounds:
    """The least that any placement which keeps all promises can cost over this history."""
    running: dict[str, LoopingJob] = {}
    rent = fractional = work = 0.0
    first = now = None
    for happening in history:
        if now is not None and happening.at > now:
            seconds = happening.at - now
            whole, parts = least_rent(running.values(), fleet)
            rent += whole * seconds
            fractional += parts * seconds
            work += sum(least_work_dollars(job, fleet) for job in running.values()) * seconds
        now = happening.at
        first = now if first is None else first
        if happening.job is None:
            del running[happening.name]
        else:
            running[happening.name] = happening.job
    total = (now or 0.0) - (first or 0.0)
    return Bounds(rent / total, fractional / total, work / total) if total else Bounds(0.0, 0.0, 0.0)
