"""Brings a live state to what a tree holds, in place: objects keep their identity, memory its sharing.

The live state is one that the same build function made, so it has the same shape; what appeared later (an optimizer's
moments, a longer list) is made here. Random generators that are part of the state are restored like everything else,
the global ones are not: they come last, see `dagrl_local.ambient`.
"""

from __future__ import annotations

from typing import Any, Protocol

from dagrl_local.state.kinds import MISSING, kind_for
from dagrl_local.state.tree import Node, RestoreError, Tree


def restore(state: object, tree: Tree, device: str = "cpu") -> Any:
    """The state as captured, in the live objects where they can be kept; returns what stands at the root.

    Tensors that have to be made and were not on the CPU are made on `device`. Raises RestoreError naming the place
    where the live state does not fit.
    """
    return Restorer(tree, device).value(tree.root, state)


class Placement(Protocol):
    """Puts the tensors of one library into live ones."""

    def place(self, index: int, live: object) -> Any:
        """The tensor or array of a leaf: the live one where it fits, or a new one."""
        ...


class Restorer:
    """One restore in progress: what has been restored so far."""

    def __init__(self, tree: Tree, device: str, known: dict[int, Any] | None = None) -> None:
        self.tree = tree
        self.device = device
        self._known: dict[int, Any] = {} if known is None else known
        self._awaited: int | None = None
        #: Live objects that hold something restored, by id.
        self._used: dict[int, object] = {}
        self._leaves: dict[int, Any] = {}
        self._placements: dict[str, Placement] = {}

    def value(self, node: Node, live: object) -> Any:
        """What a node stands for, in `live` if that can hold it."""
        if not isinstance(node, dict):
            return node
        tag, payload = next(iter(node.items()))
        if tag == "same":
            return self._known[payload]
        kind = kind_for(tag)
        self._awaited = node.get("id")
        result = kind.restore(self, payload, self._once(live) if kind.identity else live)
        if "id" in node:
            self._known[node["id"]] = result
        return result

    def item(self, key: object, node: Node, live: object) -> Any:
        """The value of a node inside another; a fault in it is told with its key."""
        try:
            return self.value(node, live)
        except RestoreError as fault:
            raise fault.inside(key) from None

    def meet(self, value: object) -> None:
        """Tell which object the current node becomes, before its insides, which may refer to it, are restored."""
        if self._awaited is not None:
            self._known[self._awaited] = value

    def fresh(self, node: Node) -> Any:
        """A value of its own, sharing nothing with the live state: what a `load_state_dict` is given."""
        return Restorer(self.tree, self.device, self._known).value(node, MISSING)

    def _once(self, live: object) -> object:
        """A live object, the first time: what has become one thing already cannot become another."""
        if id(live) in self._used:
            return MISSING
        if live is not MISSING and live is not None:
            self._used[id(live)] = live
        return live

    def leaf(self, index: int, live: object) -> Any:
        """The tensor or array of a leaf, which may stand in many places."""
        if index not in self._leaves:
            self._leaves[index] = self._placement(index).place(index, live)
        return self._leaves[index]

    def _placement(self, index: int) -> Placement:
        library = self.tree.leaves[index].library
        if library not in self._placements:
            if library == "torch":
                from dagrl_local.state.placement import TensorPlacement

                self._placements[library] = TensorPlacement(self.tree, self.device)
            else:
                from dagrl_local.state.numpy_kinds import ArrayPlacement

                self._placements[library] = ArrayPlacement(self.tree)
        return self._placements[library]
