"""Brings a live state to what a tree holds, in place: objects keep their identity, memory its sharing.

The live state is one that the same build function made, so it has the same shape; what appeared later (an optimizer's
moments, a longer list) is made here. Random generators that are part of the state are restored like everything else,
the global ones are not: they come last, see `dagrl_local.ambient`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dagrl_local.state.kinds import MISSING, kind_for
from dagrl_local.state.tree import Node, RestoreError, Tree

if TYPE_CHECKING:
    import numpy as np
    import torch

    from dagrl_local.state.numpy_kinds import ArrayPlacement
    from dagrl_local.state.placement import TensorPlacement


def restore(state: object, tree: Tree, device: str = "cpu") -> Any:
    """The state as captured, in the live objects where they can be kept; returns what stands at the root.

    Tensors that have to be made and were not on the CPU are made on `device`. Raises RestoreError naming the place
    where the live state does not fit.
    """
    return Restorer(tree, device).value(tree.root, state)


class Restorer:
    """One restore in progress: what has been restored so far."""

    def __init__(self, tree: Tree, device: str, known: dict[int, Any] | None = None) -> None:
        self.tree = tree
        self.device = device
        self._known: dict[int, Any] = {} if known is None else known
        self._awaited: int | None = None
        self._tensors: TensorPlacement | None = None
        self._arrays: ArrayPlacement | None = None

    def value(self, node: Node, live: object) -> Any:
        """What a node stands for, in `live` if that can hold it."""
        if not isinstance(node, dict):
            return node
        tag, payload = next(iter(node.items()))
        if tag == "leaf":
            return self._leaf(payload, live)
        if tag == "same":
            return self._known[payload]
        self._awaited = node.get("id")
        result = kind_for(tag).restore(self, payload, live)
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

    def _leaf(self, index: int, live: object) -> Any:
        if self.tree.leaves[index].library == "numpy":
            return self.array(index, live)
        return self.tensor(index, live)

    def tensor(self, index: int, live: object) -> torch.Tensor:
        """The tensor of a leaf, in `live` if that is a tensor."""
        if self._tensors is None:
            from dagrl_local.state.placement import TensorPlacement

            self._tensors = TensorPlacement(self.tree, self.device)
        return self._tensors.place(index, live)

    def array(self, index: int, live: object) -> np.ndarray[Any, Any]:
        """The array of a leaf, in `live` if that is an array of the same form."""
        if self._arrays is None:
            from dagrl_local.state.numpy_kinds import ArrayPlacement

            self._arrays = ArrayPlacement(self.tree)
        return self._arrays.place(index, live)
