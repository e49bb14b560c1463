"""A captured state: a JSON skeleton, a table of the tensors and arrays in it, and the memory that their bytes lie in.

Bytes are kept by storage and not by tensor, so whatever shares memory in the live state (tied weights, views) is kept
once and shares memory again. A skeleton's node is a JSON scalar, or an object whose first key names its kind; nothing
in it names code to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from dagrl.errors import UserError
from dagrl_local.blocks import Block

#: Any JSON value; nested too deep for a useful type.
Node = Any


class PlacedError(UserError):
    """A fault somewhere in a state, with the path that leads to it."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.path: list[str] = []
        super().__init__(what)

    def inside(self, key: object) -> Self:
        """The same fault as seen from one level up."""
        self.path.insert(0, str(key))
        return self

    def __str__(self) -> str:
        place = ".".join(self.path)
        return f"{place}: {self.what}" if place else self.what


class UnsupportedStateError(PlacedError):
    """A value that dagrl cannot capture."""


class RestoreError(PlacedError):
    """A captured state that does not fit what it should be restored into."""


class Leaf(NamedTuple):
    """How one tensor or array lies in its region."""

    library: str
    region: int
    dtype: str
    shape: Sequence[int]
    #: In elements for torch, in bytes for numpy, as is the offset.
    strides: Sequence[int]
    offset: int
    device: str = ""
    requires_grad: bool = False
    parameter: bool = False
    #: The leaf that is its gradient.
    grad: int | None = None


class Region(NamedTuple):
    """Where the bytes of one storage lie in a block; `offset` is -1 when they were left out."""

    offset: int
    nbytes: int


class LeafNode:
    """A tensor's or an array's place in a fresh skeleton; becomes a node with its kind's tag in JSON."""

    __slots__ = ("index", "tag")

    def __init__(self, tag: str, index: int) -> None:
        self.tag = tag
        self.index = index


class UnhashedNode:
    """A part of a fresh skeleton that tells of wall-clock time or the like, and so is no part of a digest."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node


def plain(value: object) -> Node:
    """What JSON holds in place of the two marks above."""
    match value:
        case LeafNode():
            return {value.tag: value.index}
        case UnhashedNode():
            return value.node
        case _:
            raise TypeError(f"a skeleton cannot hold {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Tree:
    """A captured state. `extras` is what its maker kept beside it, in JSON."""

    root: Node
    leaves: Sequence[Leaf]
    regions: Sequence[Region]
    block: Block
    extras: Mapping[str, Any]

    def region_bytes(self, index: int) -> memoryview | None:
        """The bytes of one region; None when they were left out."""
        offset, nbytes = self.regions[index]
        return None if offset < 0 else self.block.memory[offset : offset + nbytes]
