"""Blocks of host memory, private or shared between processes: where saved contexts and published weights lie.

A shared block is a file descriptor and nothing else: it has no name that could be left behind, and its memory is freed
when the last process that holds the descriptor lets go. Descriptors travel over the worker's socket (see `wire`), so a
block that a worker announced survives the worker, however it ends.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from contextlib import suppress
from pathlib import Path


class Block:
    """Mapped memory of this process with a fixed size in bytes."""

    def __init__(self, size: int, fd: int = -1) -> None:
        self.size = size
        flags = (mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) if fd < 0 else mmap.MAP_SHARED
        # Faults taken one by one while copying would cost several times the copy.
        self._map = mmap.mmap(fd, size, flags=flags | getattr(mmap, "MAP_POPULATE", 0))
        self._anchor = ctypes.c_char.from_buffer(self._map)
        #: Address of the first byte.
        self.address = ctypes.addressof(self._anchor)
        self.memory = memoryview(self._map)

    def close(self) -> None:
        """Unmap the memory; what still looks at it keeps it mapped until it lets go."""
        del self._anchor
        self.memory.release()
        with suppress(BufferError):
            self._map.close()


class SharedBlock(Block):
    """Memory that other processes may map through its descriptor, which it owns."""

    def __init__(self, fd: int) -> None:
        super().__init__(os.fstat(fd).st_size, fd)
        self.fd = fd

    @classmethod
    def create(cls, size: int, directory: Path) -> SharedBlock:
        """A new block. `directory` is only used where the system has no memory files. Raises OSError."""
        return cls(_new_file(size, directory))

    def close(self) -> None:
        """Unmap the memory and close the descriptor; other processes keep theirs."""
        super().close()
        os.close(self.fd)


def _new_file(size: int, directory: Path) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("dagrl", os.MFD_CLOEXEC)
    else:
        directory.mkdir(mode=0o700, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=directory)
        Path(name).unlink()
    try:
        os.ftruncate(fd, size)
    except OSError:
        os.close(fd)
        raise
    return fd
