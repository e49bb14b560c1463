"""The host memory of every node: who keeps how much there, and whether one more fits.

A job's state stays in the host memory of its nodes while other jobs compute, or a switch would be cold. What does not
fit is refused with the numbers; nothing is ever spilled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from dagrl.placement.model import Fleet, Node, Seat


def host_bytes(seats: Iterable[Seat]) -> dict[Node, int]:
    """Bytes that these seats keep in the host memory of each node; phases of one job on one node add up."""
    kept: dict[Node, int] = defaultdict(int)
    for seat in seats:
        for phase, nodes in zip(seat.way.phases, seat.nodes, strict=True):
            for node in nodes:
                kept[node] += phase.host_bytes
    return kept


def shortage(seats: Iterable[Seat], fleet: Fleet) -> str | None:
    """The first node that is over its budget, with the numbers; None when all fits."""
    for node, kept in sorted(host_bytes(seats).items()):
        budget = fleet.host_bytes[node.pool]
        if budget is not None and kept > budget:
            return f"{node}: {kept} bytes of host memory needed, {budget} there"
    return None
