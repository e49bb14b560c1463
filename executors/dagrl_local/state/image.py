"""The form in which a captured state lies in one block of memory: a header, the bytes of every region, JSON at the end.

Such a block alone is enough to bring a context back in another process. Its header names the JSON only once all is
written, so a block whose writer was killed half way reads as empty.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from dagrl_local.blocks import Block
from dagrl_local.state.tree import Leaf, Region, RestoreError, Tree, plain

if TYPE_CHECKING:
    from dagrl_local.state.capture import Scan

_SomeBlock = TypeVar("_SomeBlock", bound=Block)

_HEADER = struct.Struct("<8sQQ")
_MAGIC = b"dagrl\0\0\1"
#: Regions begin at multiples of this: a cache line, and more than any dtype asks for.
_ALIGNMENT = 64
#: Room for JSON to grow without a new block.
_SLACK = 1.25


@dataclass(frozen=True, slots=True)
class Image:
    """A scanned state laid out and ready to be written."""

    scan: Scan
    regions: tuple[Region, ...]
    json_offset: int
    text: bytes

    @property
    def size(self) -> int:
        """Bytes that a block must have to hold it."""
        return self.json_offset + len(self.text)

    @property
    def roomy_size(self) -> int:
        """Bytes for a block that is to be written again and again."""
        return self.json_offset + int(len(self.text) * _SLACK)

    @property
    def copied_bytes(self) -> int:
        """Bytes of tensors and arrays in it."""
        return sum(region.nbytes for region in self.regions if region.offset >= 0)

    def write(self, block: Block) -> None:
        """Copy everything into a block that is large enough."""
        _HEADER.pack_into(block.memory, 0, _MAGIC, 0, 0)
        for live, region in zip(self.scan.regions, self.regions, strict=True):
            if region.offset >= 0:
                live.copy_out(block, region.offset)
        block.memory[self.json_offset : self.size] = self.text
        _HEADER.pack_into(block.memory, 0, _MAGIC, self.json_offset, len(self.text))


def lay_out(scan: Scan, extras: Mapping[str, Any], omitted: Collection[int] = ()) -> Image:
    """Give every region but the omitted ones a place, and turn all that is small into JSON."""
    regions, offset = [], _ALIGNMENT
    for index, live in enumerate(scan.regions):
        if index in omitted:
            regions.append(Region(-1, live.nbytes))
        else:
            regions.append(Region(offset, live.nbytes))
            offset += -(-live.nbytes // _ALIGNMENT) * _ALIGNMENT
    document = [scan.root, scan.leaves, regions, extras]
    text = json.dumps(document, default=plain, separators=(",", ":"), check_circular=False).encode()
    return Image(scan, tuple(regions), offset, text)


def read_tree(block: Block) -> Tree:
    """The state in a block; its bytes stay in the block. Raises RestoreError if no complete one is there."""
    magic, offset, length = _HEADER.unpack_from(block.memory)
    if magic != _MAGIC or not length:
        raise RestoreError("the saved copy is incomplete: the process that wrote it ended half way")
    root, leaves, regions, extras = json.loads(bytes(block.memory[offset : offset + length]))
    return Tree(root, [Leaf(*leaf) for leaf in leaves], [Region(*region) for region in regions], block, extras)


def image_in(image: Image, make: Callable[[int], _SomeBlock]) -> _SomeBlock:
    """A new block, exactly large enough, with an image in it."""
    block = make(image.size)
    image.write(block)
    return block
