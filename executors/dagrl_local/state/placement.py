"""Puts captured tensors into live ones: bytes into their storages, and views and ties as they were.

Works by region. A live storage that fits takes a region's bytes; every tensor of the region then lies in that storage,
whether or not it did before: what was tied is tied again, and what had come apart is apart.
"""

from __future__ import annotations

from typing import Any

import torch

from dagrl_local.state.regions import StorageRegion
from dagrl_local.state.tree import Leaf, RestoreError, Tree


def tensor_view(tree: Tree, index: int) -> torch.Tensor:
    """A captured tensor as it lies in the tree's own memory. Raises RestoreError when its bytes were left out."""
    leaf = tree.leaves[index]
    data = tree.region_bytes(leaf.region)
    if data is None:
        raise RestoreError("the tensor's bytes were not captured")
    dtype = getattr(torch, leaf.dtype)
    if not data:
        return torch.empty_strided(leaf.shape, leaf.strides, dtype=dtype, device="cpu")
    storage = torch.frombuffer(data, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=dtype, device="cpu").set_(storage, leaf.offset, leaf.shape, leaf.strides)


class TensorPlacement:
    """The tensors of one restore."""

    def __init__(self, tree: Tree, device: str) -> None:
        self._tree = tree
        self._device = device
        self._storages: dict[int, torch.UntypedStorage] = {}
        #: Storages that hold a region already.
        self._taken: set[int] = set()

    def place(self, index: int, live: object) -> torch.Tensor:
        """The tensor of a leaf: the live one, if there is one, or a new one."""
        leaf = self._tree.leaves[index]
        old = live if isinstance(live, torch.Tensor) and not live.is_conj() and not live.is_neg() else None
        tensor = self._filled(leaf, old)
        if tensor.is_leaf:
            if tensor.requires_grad != leaf.requires_grad:
                tensor.requires_grad_(leaf.requires_grad)
            old_grad = tensor.grad
            tensor.grad = None if leaf.grad is None else self.place(leaf.grad, old_grad)
        return tensor

    def _filled(self, leaf: Leaf, old: torch.Tensor | None) -> torch.Tensor:
        storage = self._storage(leaf, old)
        dtype = getattr(torch, leaf.dtype)
        if old is not None:
            if not self._lies_so(old, leaf, storage):
                old.data = torch.empty(0, dtype=dtype, device=storage.device).set_(
                    storage, leaf.offset, leaf.shape, leaf.strides
                )
            return old
        new = torch.empty(0, dtype=dtype, device=storage.device).set_(storage, leaf.offset, leaf.shape, leaf.strides)
        return torch.nn.Parameter(new, requires_grad=leaf.requires_grad) if leaf.parameter else new

    def _storage(self, leaf: Leaf, old: torch.Tensor | None) -> torch.UntypedStorage:
        known = self._storages.get(leaf.region)
        if known is not None:
            return known
        offset, nbytes = self._tree.regions[leaf.region]
        storage = old.untyped_storage() if old is not None else None
        if storage is None or storage.nbytes() != nbytes or storage._cdata in self._taken:  # noqa: SLF001
            device = old.device if old is not None else torch.device(self._home(leaf))
            storage = torch.empty(nbytes, dtype=torch.uint8, device=device).untyped_storage()
        if offset >= 0:
            StorageRegion(storage, nbytes).copy_in(self._tree.block, offset)
        self._taken.add(storage._cdata)  # noqa: SLF001
        self._storages[leaf.region] = storage
        return storage

    def _home(self, leaf: Leaf) -> str:
        return leaf.device if leaf.device == "cpu" else self._device

    @staticmethod
    def _lies_so(tensor: torch.Tensor, leaf: Leaf, storage: torch.UntypedStorage) -> bool:
        now: tuple[Any, ...] = (tensor.dtype, [*tensor.shape], [*tensor.stride()], tensor.storage_offset())
        then = (getattr(torch, leaf.dtype), [*leaf.shape], [*leaf.strides], leaf.offset)
        return now == then and tensor.untyped_storage()._cdata == storage._cdata  # noqa: SLF001
