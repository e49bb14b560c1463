"""How long one round of a group takes, in closed form: no simulation.

When every job runs once per round, in one order on all nodes, the round takes as long as the longest loop divided by
what its staleness allows, or as the busiest node, whichever is longer; the order does not matter. That is exact when
every phase is on one node. Nodes that some phase needs together count as one, which can only make the answer too long.
Switches are charged on nodes that several jobs use, handing over weights always; phases that follow each other on the
same nodes are one stretch, and a loop comes to a node once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from dagrl.placement.model import ROUNDING, Node, Seat

#: The nodes of a phase and the seconds that it holds them, switch and sync included.
Stretch: TypeAlias = tuple[tuple[Node, ...], float]


def stretches(seats: Sequence[Seat]) -> list[tuple[Stretch, ...]]:
    """For each seat its phases with all they are charged."""
    users: dict[Node, set[str]] = defaultdict(set)
    for seat in seats:
        for nodes in seat.nodes:
            for node in nodes:
                users[node].add(seat.job.name)
    charged = []
    for seat in seats:
        last = len(seat.way.phases) - 1
        charged.append(
            tuple(
                (
                    nodes,
                    phase.seconds
                    + (phase.switch_seconds if any(len(users[node]) > 1 for node in nodes) else 0.0)
                    + (seat.way.sync_seconds if index == last else 0.0),
                )
                for index, (phase, nodes) in enumerate(zip(seat.way.phases, seat.nodes, strict=True))
            )
        )
    return charged


def node_seconds(charged: Sequence[tuple[Stretch, ...]]) -> dict[Node, float]:
    """Seconds per round that each node is held."""
    held: dict[Node, float] = defaultdict(float)
    for loop in charged:
        for nodes, seconds in loop:
            for node in nodes:
                held[node] += seconds
    return held


def cycle_seconds(seats: Sequence[Seat]) -> float:
    """Seconds of one round in which every job runs once, or a little more; 0 for no jobs."""
    charged = stretches(seats)
    longest = 0.0
    held: dict[Node, float] = defaultdict(float)
    together = _together(seats)
    for seat, loop in zip(seats, charged, strict=True):
        longest = max(longest, sum(seconds for _, seconds in loop) / (1 + seat.job.max_staleness))
        for nodes, seconds in loop:
            held[together[nodes[0]]] += seconds
    return max([longest, *held.values()])


def _together(seats: Sequence[Seat]) -> dict[Node, Node]:
    """For each node one that stands for all that phases need together, directly or through others."""
    stands: dict[Node, Node] = {}
    for seat in seats:
        for nodes in seat.nodes:
            joined = {stands.setdefault(node, node) for node in nodes}
            if len(joined) > 1:
                one = min(joined)
                stands = {node: one if other in joined else other for node, other in stands.items()}
    return stands


def round_fits(seats: Sequence[Seat]) -> bool:
    """Whether one round after the other keeps every job within its slowest pace: enough to admit, not needed."""
    return cycle_seconds(seats) <= min(seat.job.slowest_seconds for seat in seats) * (1 + ROUNDING)


def node_shares(seats: Sequence[Seat]) -> dict[Node, float]:
    """The share of each node's time that is taken when every job goes at its slowest pace."""
    shares: dict[Node, float] = defaultdict(float)
    for seat, loop in zip(seats, stretches(seats), strict=True):
        for nodes, seconds in loop:
            for node in nodes:
                shares[node] += seconds / seat.job.slowest_seconds
    return shares


def load_fits(seats: Sequence[Seat]) -> bool:
    """Whether the nodes could do all jobs' work at their slowest pace: needed to admit, not enough."""
    for seat, loop in zip(seats, stretches(seats), strict=True):
        held = sum(seconds for _, seconds in loop) / (1 + seat.job.max_staleness)
        if held > seat.job.slowest_seconds * (1 + ROUNDING):
            return False
    return max(node_shares(seats).values(), default=0.0) <= 1 + ROUNDING
