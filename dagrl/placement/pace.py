"""How fast each job of a group goes under a dispatch rule, when jobs need not take turns.

Owns a small event simulation of phases on nodes with exact durations, in which short jobs may run several iterations
while a long one runs one. A phase starts as soon as its nodes are free and nobody ranks higher; one that waits for
several nodes keeps the free ones from those behind it. Durations, rule and order of seats fix the result.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from heapq import heappop, heappush

from dagrl.placement.cycle import cycle_seconds, stretches
from dagrl.placement.model import Group, Rule, Seat

#: Simulated time, in slowest iterations of the slowest job, and the part of it in which nothing is measured.
HORIZON = 20
WARM_UP = 4
#: How much longer it is simulated when some job is so close to its largest slowdown, above or below, that the shorter
#: measurement could err about its promise.
LONG_HORIZON = 200
CLOSE = 0.05
#: What the longer measurement may still be off; it is taken for that much slower.
ERROR = 0.003


def slowdowns(seats: Sequence[Seat], rule: Rule) -> tuple[float, ...]:
    """Each job's slowdown in the long run, in the order of the seats; infinite for one that gets nowhere."""
    if rule is Rule.ROUND_ROBIN or len(seats) == 1:
        cycle = cycle_seconds(seats)
        return tuple(cycle / seat.job.alone_seconds for seat in seats)
    race = _Race(seats, rule)
    horizon = max(seat.job.slowest_seconds for seat in seats)
    race.run(HORIZON * horizon, WARM_UP * horizon)
    slow = race.slowdowns(seats)
    ratios = [slowdown / seat.job.max_slowdown for seat, slowdown in zip(seats, slow, strict=True)]
    if max(ratios) > 1 + CLOSE or max(ratios) < 1 - CLOSE:
        return slow
    race.run(LONG_HORIZON * horizon, WARM_UP * horizon)
    return tuple(slowdown * (1 + ERROR) for slowdown in race.slowdowns(seats))


def fastest(seats: Sequence[Seat], rules: Sequence[Rule]) -> Group:
    """The group under the rule that lets its jobs do most among those that keep all promises, else under the first."""
    groups = [Group(tuple(seats), slowdowns(seats, rule), rule) for rule in (rules[:1] if len(seats) == 1 else rules)]
    kept = [group for group in groups if group.keeps_promises]
    return max(kept, key=lambda group: group.speed, default=groups[0])


class _Race:
    """The jobs of one group, run for a while. Nodes and jobs are numbers here: this is the inner loop of placement."""

    def __init__(self, seats: Sequence[Seat], rule: Rule) -> None:
        numbers: dict[object, int] = {}
        self.by_lag = rule is Rule.LAG
        self.loops = [
            [(tuple(numbers.setdefault(node, len(numbers)) for node in nodes), seconds) for nodes, seconds in loop]
            for loop in stretches(seats)
        ]
        self.free = [True] * len(numbers)
        self.pace = [seat.job.slowest_seconds for seat in seats]
        self.ahead = [1 + seat.job.max_staleness for seat in seats]
        #: Iterations whose phase is done, and whether its next one waits or runs.
        self.done = [[0] * len(loop) for loop in self.loops]
        self.busy = [[False] * len(loop) for loop in self.loops]
        #: Phases that could start, best first: (rank, job, phase).
        self.ready: list[tuple[float, int, int]] = []
        self.running: list[tuple[float, int, int]] = []
        self.counted = [-1] * len(seats)
        self.first = [0.0] * len(seats)
        self.last = [0.0] * len(seats)
        for job in range(len(seats)):
            self._offer(job, 0, 0.0)
        self._start(0.0)

    def slowdowns(self, seats: Sequence[Seat]) -> tuple[float, ...]:
        """What has been measured; infinite for a job that has not got anywhere."""
        return tuple(
            (last - first) / counted / seat.job.alone_seconds if counted > 0 else float("inf")
            for seat, first, last, counted in zip(seats, self.first, self.last, self.counted, strict=True)
        )

    def run(self, until: float, measured_from: float) -> None:
        """Run on until this time, counting iterations that end after the warm-up."""
        running, free = self.running, self.free
        while running[0][0] <= until:
            now, job, phase = heappop(running)
            while True:
                for node in self.loops[job][phase][0]:
                    free[node] = True
                self._finish(job, phase, now, measured_from)
                if not running or running[0][0] > now:
                    break
                _, job, phase = heappop(running)
            if True in free:
                self._start(now)

    def _offer(self, job: int, phase: int, now: float) -> None:
        """Put a phase in the queue if its iteration may start it and it is neither waiting nor running."""
        if self.busy[job][phase]:
            return
        started = self.done[job][phase]
        allowed = self.done[job][phase - 1] if phase else self.done[job][-1] + self.ahead[job]
        if started < allowed:
            self.busy[job][phase] = True
            insort(self.ready, ((started + 1) * self.pace[job] if self.by_lag else now, job, phase))

    def _start(self, now: float) -> None:
        free, ready, loops = self.free, self.ready, self.loops
        kept: set[int] = set()
        index = 0
        while index < len(ready):
            _, job, phase = ready[index]
            nodes, seconds = loops[job][phase]
            if len(nodes) == 1:
                fits = free[nodes[0]] and nodes[0] not in kept
            else:
                fits = all(free[node] and node not in kept for node in nodes)
                if not fits:
                    kept.update(nodes)
            if fits:
                for node in nodes:
                    free[node] = False
                heappush(self.running, (now + seconds, job, phase))
                del ready[index]
            else:
                index += 1

    def _finish(self, job: int, phase: int, now: float, measured_from: float) -> None:
        self.done[job][phase] += 1
        self.busy[job][phase] = False
        last = len(self.loops[job]) - 1
        if phase == last:
            if now >= measured_from:
                if self.counted[job] < 0:
                    self.first[job] = now
                self.counted[job] += 1
                self.last[job] = now
            self._offer(job, 0, now)
            if phase:
                self._offer(job, phase, now)
        else:
            self._offer(job, phase + 1, now)
            if phase or self.ahead[job] > 1:
                self._offer(job, phase, now)
