"""What a set of jobs costs at the very least, whatever the placement: every promise kept, every node always busy.

Charges only the phases themselves: no switch, no handing over of weights. With whole nodes it takes each possible
number of the dearest nodes in turn and asks what the other pools must do then; how jobs split over their ways is left
fractional, so the answer stays a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TypeAlias

from dagrl.placement.model import ROUNDING, Fleet, LoopingJob, Way

#: A way's share of dearest nodes, and the dollars per hour of all it needs elsewhere.
Needs: TypeAlias = tuple[float, float]


def least_work_dollars(job: LoopingJob, fleet: Fleet) -> float:
    """Dollars per hour of the job at full speed, if it paid only for the seconds it computes, in its cheapest way."""
    dearest = fleet.dollars[fleet.dearest]
    return min(share * dearest + elsewhere for share, elsewhere in (_needs(job, way, fleet) for way in job.ways))


def least_rent(jobs: Iterable[LoopingJob], fleet: Fleet) -> tuple[float, float]:
    """Dollars per hour of these jobs at their slowest pace: with whole nodes, and with fractions of nodes."""
    jobs = tuple(jobs)
    fractional = sum(least_work_dollars(job, fleet) / job.max_slowdown for job in jobs)
    table = [
        [
            (share / job.max_slowdown, other / job.max_slowdown)
            for share, other in (_needs(job, way, fleet) for way in job.ways)
        ]
        for job in jobs
    ]
    dearest = fleet.dollars[fleet.dearest]
    fewest = sum(min(share for share, _ in needs) for needs in table)
    best = float("inf")
    nodes = ceil(fewest - ROUNDING)
    while nodes * dearest < best:
        best = min(best, nodes * dearest + _whole(_least_elsewhere(table, nodes), fleet))
        nodes += 1
    return (max(best, fractional) if jobs else 0.0), fractional


def _least_elsewhere(table: Sequence[Sequence[Needs]], nodes: int) -> float:
    """Dollars per hour outside the dearest pool, given so many nodes of it: the best Lagrange multiplier's value."""
    prices = {0.0}
    for needs in table:
        for share, other in needs:
            prices.update(
                (other - cheaper) / (more - share) for more, cheaper in needs if more > share and cheaper < other
            )
    return max(
        sum(min(other + price * share for share, other in needs) for needs in table) - price * nodes for price in prices
    )


def _whole(dollars: float, fleet: Fleet) -> float:
    """Rounded up to whole nodes where all dollars go to one pool."""
    others = [kind.dollars_per_hour for kind in fleet.kinds if kind.pool != fleet.dearest]
    if len(others) != 1:
        return dollars
    return ceil(dollars / others[0] - ROUNDING) * others[0]


def _needs(job: LoopingJob, way: Way, fleet: Fleet) -> Needs:
    """At full speed."""
    share = elsewhere = 0.0
    for phase in way.phases:
        part = phase.seconds * phase.nodes / job.alone_seconds
        if phase.pool == fleet.dearest:
            share += part
        else:
            elsewhere += part * fleet.dollars[phase.pool]
    return share, elsewhere
