"""Walks a live state and notes down all of it: the skeleton, and where every tensor's and array's bytes lie.

Nothing is copied here but small values. A walk follows every task, so it costs about a microsecond per value: it
builds no paths (a fault collects its path on its way up) and looks the kind of a value up by its type.
"""

from __future__ import annotations

import math
from typing import Any

from dagrl_local.blocks import Block
from dagrl_local.state.image import image_in, lay_out, read_tree
from dagrl_local.state.kinds import kind_of
from dagrl_local.state.regions import LiveRegion
from dagrl_local.state.tree import Leaf, Node, Tree, UnsupportedStateError

_SCALARS = frozenset((str, int, bool, type(None)))


class Scan:
    """A live state as it was when it was walked; `regions` are still the live memory.

    Raises UnsupportedStateError naming what cannot be captured.
    """

    __slots__ = ("leaves", "objects", "regions", "root")

    def __init__(self, state: object) -> None:
        walk = Walk()
        #: The skeleton.
        self.root: Node = walk.node(state)
        self.leaves: list[Leaf] = walk.leaves
        #: The tensor or array of each leaf.
        self.objects: list[Any] = walk.objects
        self.regions: list[LiveRegion] = walk.regions

    def nbytes(self, device: str) -> int:
        """Bytes of the tensors on one type of device."""
        return sum(region.nbytes for region in self.regions if region.device == device)


def capture(state: object) -> Tree:
    """A copy of a state that shares nothing with it. Raises UnsupportedStateError naming what cannot be captured."""
    return read_tree(image_in(lay_out(Scan(state), {}), Block))


class Walk:
    """One walk in progress: what has been met so far."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.objects: list[Any] = []
        self.regions: list[LiveRegion] = []
        #: How many environments the walk is inside of.
        self.environments = 0
        self._leaf_of: dict[int, int] = {}
        self._region_of: dict[tuple[int, int], int] = {}
        self._node_of: dict[int, dict[str, Node]] = {}
        # Ids are only unique while what they belong to lives; what a state_dict() made would not outlive its walk.
        self._met: list[object] = []
        self._shared = 0

    def node(self, value: object) -> Node:
        """The skeleton of one value."""
        of_type = type(value)
        if of_type in _SCALARS:
            return value
        if of_type is float and math.isfinite(value):  # type: ignore[arg-type]
            return value
        kind = kind_of(value, in_environment=self.environments > 0)
        if kind.is_leaf:
            return kind.capture(self, value)
        if not kind.identity:
            return {kind.tag: kind.capture(self, value)}
        known = self._node_of.get(id(value))
        if known is not None:
            if "id" not in known:
                known["id"] = self._shared
                self._shared += 1
            return {"same": known["id"]}
        node: dict[str, Node] = {kind.tag: None}
        self._node_of[id(value)] = node
        self._met.append(value)
        node[kind.tag] = kind.capture(self, value)
        return node

    def item(self, key: object, value: object) -> Node:
        """The skeleton of a value inside another; a fault in it is told with its key."""
        try:
            return self.node(value)
        except UnsupportedStateError as fault:
            raise fault.inside(key) from None

    def known_leaf(self, value: object) -> int | None:
        """The leaf of a tensor or array that was met before."""
        return self._leaf_of.get(id(value))

    def new_leaf(self, value: object) -> int:
        """A leaf whose entry in `leaves` the caller fills in."""
        index = len(self.leaves)
        self._leaf_of[id(value)] = index
        self.leaves.append(_UNFILLED)
        self.objects.append(value)
        return index

    def known_region(self, address: int, nbytes: int) -> int | None:
        """The region that begins at an address and has that size, if one was met."""
        return self._region_of.get((address, nbytes)) if nbytes else None

    def new_region(self, address: int, region: LiveRegion) -> int:
        """Take note of a region."""
        index = len(self.regions)
        self._region_of[address, region.nbytes] = index
        self.regions.append(region)
        return index


_UNFILLED = Leaf("", 0, "", (), (), 0)
