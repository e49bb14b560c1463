"""Durable checkpoints: a context on disk, complete or not there, readable without dagrl.

A directory holds `tensors.safetensors` (if there are tensors), with names that people know, and `state.json` with all
the rest: skeleton, how tensors lie and share memory, global generators, policy version and digest. It is written
under another name, synced and renamed, so a checkpoint that is there is whole.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagrl_local.blocks import Block
from dagrl_local.files import make_directory, sync
from dagrl_local.state import Scan, Tree
from dagrl_local.state.digest import digest
from dagrl_local.state.names import leaf_names
from dagrl_local.state.tree import Leaf, Region, plain
from dagrl_local.tensor_file import Entry, entry_of, open_tensors, write_tensors

TENSORS = "tensors.safetensors"
STATE = "state.json"
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Written:
    """A checkpoint that is on disk now."""

    digest: str
    bytes: int


def write_checkpoint(scan: Scan, extras: Mapping[str, Any], hashed: Mapping[str, Any], path: Path) -> Written:
    """Write a state to a new directory; `extras` is JSON kept beside it, `hashed` what of it enters the digest.

    A checkpoint that is there already is replaced.
    """
    whole = digest(scan, hashed)
    names = leaf_names(scan)
    entries = [entry_of(name, value) for name, value in zip(names, scan.objects, strict=True)]
    sizes = [region.nbytes for region in scan.regions]
    document = {
        "format": 1,
        "digest": whole,
        "root": scan.root,
        "leaves": scan.leaves,
        "entries": entries,
        "region_bytes": sizes,
        **extras,
    }
    make_directory(path.parent)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        if names:
            write_tensors(temporary / TENSORS, dict(zip(names, scan.objects, strict=True)), {"format": "pt"})
        (temporary / STATE).write_text(json.dumps(document, default=plain), encoding="utf-8")
        for file in temporary.iterdir():
            file.chmod(0o600)
            sync(file)
        sync(temporary)
        _put_in_place(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return Written(whole, sum(file.stat().st_size for file in path.iterdir()))


def load_checkpoint(path: Path) -> Tree:
    """A checkpoint's state, ready for `restore`; what was kept beside it is in `extras`. Raises OSError."""
    extras = json.loads((path / STATE).read_text(encoding="utf-8"))
    leaves = [Leaf(*leaf) for leaf in extras.pop("leaves")]
    entries = [Entry(*entry) for entry in extras.pop("entries")]
    regions, end = [], 0
    for nbytes in extras.pop("region_bytes"):
        regions.append(Region(end, nbytes))
        end += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
    tree = Tree(extras.pop("root"), leaves, regions, Block(max(end, 1)), extras)
    if leaves:
        with open_tensors(path / TENSORS) as file:
            for index, (leaf, entry) in enumerate(zip(leaves, entries, strict=True)):
                _fill(tree, index, leaf, file.read(entry))
    return tree


def _fill(tree: Tree, index: int, leaf: Leaf, value: Any) -> None:
    if leaf.library == "torch":
        from dagrl_local.state.placement import tensor_view

        view = tensor_view(tree, index)
        for dimension, stride in enumerate(leaf.strides):
            if stride == 0 and leaf.shape[dimension] > 1:
                # An expanded tensor has one place for many elements; copying onto it is refused.
                view, value = view.narrow(dimension, 0, 1), value.narrow(dimension, 0, 1)
        view.copy_(value)
    else:
        from dagrl_local.state.numpy_kinds import array_view

        array_view(tree, index)[...] = value


def _put_in_place(temporary: Path, path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)
    temporary.replace(path)
    sync(path.parent)
