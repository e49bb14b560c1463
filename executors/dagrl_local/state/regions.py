"""Live memory: the storages that tensors lie in, and the buffers of arrays, copied as raw bytes.

Raw bytes keep what values lose: NaN payloads, negative zeros, what a view does not show. A torch storage may give its
memory back and take new memory later (`release`, `reclaim`), with all tensors in it keeping their identity. Reading a
tensor in between crashes the process, so nothing but a switch may do it.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from dagrl_local.blocks import Block

if TYPE_CHECKING:
    import numpy as np
    import torch


class StorageRegion:
    """The storage of torch tensors."""

    __slots__ = ("device", "nbytes", "storage")

    def __init__(self, storage: torch.UntypedStorage, nbytes: int) -> None:
        self.storage = storage
        #: Its size while it is not released.
        self.nbytes = nbytes
        #: Device type: `cpu`, `cuda`, ...
        self.device: str = storage.device.type

    def copy_out(self, block: Block, offset: int) -> None:
        """Copy the bytes into a block."""
        if self.device == "cpu":
            ctypes.memmove(block.address + offset, self.storage.data_ptr(), self.nbytes)
        elif self.nbytes:
            _host_storage(block, offset, self.nbytes).copy_(self.storage, non_blocking=False)

    def copy_in(self, block: Block, offset: int) -> None:
        """Take the bytes from a block."""
        if self.device == "cpu":
            ctypes.memmove(self.storage.data_ptr(), block.address + offset, self.nbytes)
        elif self.nbytes:
            self.storage.copy_(_host_storage(block, offset, self.nbytes), non_blocking=False)

    def release(self) -> None:
        """Give the memory back, unless it is not torch's own (an array's, a mapped file's)."""
        if self.storage.resizable():
            self.storage.resize_(0)

    def reclaim(self) -> bool:
        """Have memory again if it was given back, and say so: its bytes are undefined until they are copied in."""
        if self.storage.nbytes() == self.nbytes:
            return False
        self.storage.resize_(self.nbytes)
        return True

    @property
    def address(self) -> int:
        """Where it lies now; 0 while it is released or empty."""
        return self.storage.data_ptr() if self.storage.nbytes() else 0


class ArrayRegion:
    """The buffer of numpy arrays, which lies on the host and never moves."""

    __slots__ = ("array", "device", "nbytes", "start")

    def __init__(self, array: np.ndarray[Any, Any], start: int, nbytes: int) -> None:
        #: Keeps the buffer alive.
        self.array = array
        self.start = start
        self.nbytes = nbytes
        self.device = "numpy"

    def copy_out(self, block: Block, offset: int) -> None:
        """Copy the bytes into a block."""
        ctypes.memmove(block.address + offset, self.start, self.nbytes)

    def copy_in(self, block: Block, offset: int) -> None:
        """Nothing: the live buffer was never given up."""

    def release(self) -> None:
        """Nothing to give back."""

    def reclaim(self) -> bool:
        """Nothing to take back."""
        return False

    @property
    def address(self) -> int:
        """Where it lies."""
        return self.start


LiveRegion = StorageRegion | ArrayRegion


def _host_storage(block: Block, offset: int, nbytes: int) -> torch.UntypedStorage:
    import torch

    return torch.frombuffer(block.memory[offset : offset + nbytes], dtype=torch.uint8).untyped_storage()
