"""A context in its worker: built once, moved off the device and back in place, saved so that it outlives the process.

Owns what is resident, what the saved copy holds and whether it is current. Weights that a propagate brings again are
left out of the copy of a context with `on_evict: discard`, and are missing until they are loaded. Nothing here decides
when to move.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagrl.errors import DagrlError
from dagrl_local.ambient import Snapshot
from dagrl_local.blocks import SharedBlock
from dagrl_local.checkpoint import Written, write_checkpoint
from dagrl_local.publish import load_weights, same_bytes, weights_of
from dagrl_local.state import Scan, Tree, lay_out, read_tree, restore
from dagrl_local.state.image import Image


class ContextUnusableError(DagrlError):
    """A context that cannot be used as it is now: evicted, or without its weights."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a save came to: bytes copied, and the block if it is a new one."""

    bytes: int
    new_block: SharedBlock | None = None


class HeldContext:
    """One context that this process holds."""

    def __init__(self, name: str, state: Any, ambient: Snapshot, device: str, *, discards: bool) -> None:
        self.name = name
        self.state = state
        #: Global generators and modes as its last task left them.
        self.ambient = ambient
        #: Version of the weights it holds; None when no propagate concerns it.
        self.version: int | None = None
        self._device = device
        self._discards = discards
        self._resident = True
        self._weights_missing = False
        #: Live tensors that the last load filled, by id, with what was published: the next load fills them again.
        self._provided: dict[int, tuple[Any, Any]] = {}
        self._scan: Scan | None = None
        self._image: Image | None = None
        self._block: SharedBlock | None = None
        self._dirty = True

    @classmethod
    def rebuilt(cls, name: str, built: Any, block: SharedBlock, device: str, *, discards: bool) -> HeldContext:
        """The context of a saved copy, in a state that its build function has just made; the block becomes its own.

        Raises RestoreError where copy and state do not fit.
        """
        tree = read_tree(block)
        state = restore(built, tree, device)
        extras = tree.extras
        context = cls(name, state, Snapshot(extras["seed"], extras["states"]), device, discards=discards)
        context.version = extras["version"]
        context._weights_missing = any(region.offset < 0 for region in tree.regions)
        context._block = block
        return context

    @property
    def resident_bytes(self) -> int:
        """Bytes on the executor's device while it is resident. Raises UnsupportedStateError."""
        return self._scanned().nbytes(self._device.partition(":")[0])

    def begin_task(self) -> None:
        """Get ready to be changed. Raises ContextUnusableError when it is not whole."""
        self._need_whole()
        # Else tensors that the task lets go of would stay in memory.
        self._scan = self._image = None
        self._dirty = True

    def save(self, make_block: Callable[[int], SharedBlock]) -> Saved:
        """Bring the saved copy up to date."""
        if not self._dirty:
            return Saved(0)
        scan = self._scanned()
        extras = {"seed": self.ambient.seed, "states": self.ambient.states, "version": self.version}
        image = lay_out(scan, extras, self._left_out(scan))
        fits = self._block is not None and self._block.size >= image.size
        block = self._block if self._block is not None and fits else make_block(image.roomy_size)
        try:
            image.write(block)
        except BaseException:
            if block is not self._block:
                block.close()
            raise
        self._image, self._dirty = image, False
        if block is self._block:
            return Saved(image.copied_bytes)
        self._forget_block()
        self._block = block
        return Saved(image.copied_bytes, block)

    def addresses(self) -> set[int]:
        """Where its memory lies."""
        return {live.address for live in self._scanned().regions} - {0}

    def evict(self, make_block: Callable[[int], SharedBlock], in_use: Collection[int] = ()) -> Saved:
        """Save it if need be and give its device memory back, except what lies at addresses that others use as well."""
        saved = self.save(make_block)
        if self._resident:
            for live, region in self._moving():
                if live.address not in in_use:
                    live.release()
                    self._weights_missing |= region.offset < 0
            self._resident = False
        return saved

    def reclaim(self) -> int:
        """Bring its bytes back into the very tensors they came from; returns how many."""
        if self._resident or self._block is None:
            return 0
        copied = 0
        for live, region in self._moving():
            if live.reclaim() and region.offset >= 0:
                live.copy_in(self._block, region.offset)
                copied += region.nbytes
        self._resident = True
        return copied

    def take_weights(self, tree: Tree, version: int) -> int:
        """Load published weights, unless it holds that version whole; returns how many bytes.

        What a step changed in them since they were loaded stays changed, as it would if nothing had been evicted.
        """
        self._need_resident()
        if version == self.version and not self._weights_missing:
            return 0
        taken = load_weights(self.state, tree)
        if not taken:
            # Its own load_state_dict may have replaced any tensor.
            self._scan = None
        self._provided = {id(live): (live, published) for live, published in taken}
        self._weights_missing = False
        self.version = version
        # A copy that leaves these weights out is still current.
        self._dirty = self._dirty or not self._copy_leaves_weights_out()
        return sum(region.nbytes for region in tree.regions)

    def weights(self) -> Scan:
        """Its weights, ready to be published. Raises WeightsError if it has none."""
        self._need_whole()
        return weights_of(self.state)

    def checkpoint(self, path: Path) -> Written:
        """Write it to disk."""
        self._need_whole()
        ambient = {"seed": self.ambient.seed, "states": self.ambient.states}
        return write_checkpoint(self._scanned(), {**ambient, "version": self.version}, ambient, path)

    def close(self) -> None:
        """Let go of the saved copy."""
        self._forget_block()
        self.state = self._scan = self._image = None
        self._provided = {}

    def _scanned(self) -> Scan:
        if self._scan is None:
            self._scan = Scan(self.state)
        return self._scan

    def _left_out(self, scan: Scan) -> set[int]:
        """The regions that hold nothing but weights that will be loaded again: none once a step has changed one."""
        if not self._discards or not all(same_bytes(*pair) for pair in self._provided.values()):
            return set()
        kept = {
            leaf.region
            for leaf, value in zip(scan.leaves, scan.objects, strict=True)
            if id(value) not in self._provided
        }
        return set(range(len(scan.regions))) - kept

    def _copy_leaves_weights_out(self) -> bool:
        if self._image is None:
            return False
        left_out = {index for index, region in enumerate(self._image.regions) if region.offset < 0}
        return bool(left_out) and left_out == self._left_out(self._scanned())

    def _moving(self) -> Iterable[tuple[Any, Any]]:
        if self._image is None:
            return ()
        on_device = self._device.partition(":")[0]
        pairs = zip(self._image.scan.regions, self._image.regions, strict=True)
        return [(live, region) for live, region in pairs if live.device == on_device]

    def _need_resident(self) -> None:
        if not self._resident:
            raise ContextUnusableError(f"context {self.name!r} is evicted")

    def _need_whole(self) -> None:
        self._need_resident()
        if self._weights_missing:
            raise ContextUnusableError(f"context {self.name!r} was restored without its weights, and none were loaded")

    def _forget_block(self) -> None:
        if self._block is not None:
            self._block.close()
            self._block = None
