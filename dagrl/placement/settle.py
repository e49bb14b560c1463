"""Turns a wished-for grouping into moves: which real node plays which part, so that few jobs must move.

Groups and nodes of the wish have numbers of their own. Each takes over the real nodes whose jobs it shares most; nodes
without a predecessor are rented. Who ends up on the same nodes in the same way does not move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dagrl.placement.model import Group, Move, Node, Seat


class Rentals:
    """Numbers for new nodes, by pool; a number is never used twice."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def next_nodes(self, pool: str, count: int) -> tuple[Node, ...]:
        """The nodes that would be rented next; asking does not rent them."""
        first = self._next.get(pool, 0)
        return tuple(Node(pool, number) for number in range(first, first + count))

    def note(self, nodes: Iterable[Node]) -> None:
        """These nodes are somebody's now."""
        for node in nodes:
            self._next[node.pool] = max(self._next.get(node.pool, 0), node.number + 1)

    def rent(self, pool: str) -> Node:
        """A node that nobody has had."""
        node = self.next_nodes(pool, 1)[0]
        self.note([node])
        return node


def settle(before: Sequence[Group], wished: Sequence[Group], rentals: Rentals) -> tuple[Group, ...]:
    """The wished-for groups on real nodes; those whose nodes are real and unchanged already stay as they are."""
    kept = set(before)
    sitting = {seat.job.name: seat for group in before for seat in group.seats}
    taken = {node for group in wished if group in kept for node in group.nodes}
    settled = {}
    order = sorted(range(len(wished)), key=lambda index: (-len(wished[index].seats), index))
    for index in order:
        group = wished[index]
        settled[index] = group if group in kept else _settle_group(group, sitting, taken, rentals)
    return tuple(settled[index] for index in range(len(wished)))


def moves(before: Iterable[Group], after: Iterable[Group]) -> tuple[Move, ...]:
    """Who sits elsewhere, of those who sat before, by name."""
    sitting = {seat.job.name: seat for group in before for seat in group.seats}
    changed = []
    for group in after:
        for seat in group.seats:
            source = sitting.get(seat.job.name)
            if source is not None and (source.nodes, source.way.name) != (seat.nodes, seat.way.name):
                changed.append(Move(seat.job.name, source, seat))
    return tuple(sorted(changed, key=lambda move: move.job))


def _settle_group(group: Group, sitting: dict[str, Seat], taken: set[Node], rentals: Rentals) -> Group:
    real: dict[Node, Node] = {}
    votes = _votes(group, sitting)
    for _, wish, node in sorted(((-count, wish, node) for (wish, node), count in votes.items())):
        if wish not in real and node not in taken:
            real[wish] = node
            taken.add(node)
    for wish in sorted(group.nodes):
        if wish not in real:
            real[wish] = rentals.rent(wish.pool)
            taken.add(real[wish])
    seats = tuple(
        Seat(seat.job, seat.way, tuple(tuple(sorted(real[node] for node in nodes)) for nodes in seat.nodes))
        for seat in group.seats
    )
    return replace(group, seats=seats)


def _votes(group: Group, sitting: dict[str, Seat]) -> dict[tuple[Node, Node], int]:
    """How many jobs would stay for each part that a real node could play."""
    votes: dict[tuple[Node, Node], int] = {}
    for seat in group.seats:
        old = sitting.get(seat.job.name)
        if old is None or old.way.name != seat.way.name:
            continue
        for wished, there in zip(seat.nodes, old.nodes, strict=True):
            for pair in ((wish, node) for wish in wished for node in there):
                votes[pair] = votes.get(pair, 0) + 1
    return votes
