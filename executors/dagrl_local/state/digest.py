"""One SHA-256 for a whole state, computed from values and names alone.

Where the bytes lie, how they are strided and shared does not enter, so a state that was restored in another process has
the digest it had before. Bits count: -0.0 is not 0.0, and NaNs differ by their payload.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from typing import Any

from dagrl_local.state.capture import Scan
from dagrl_local.state.tree import LeafNode, Node, UnhashedNode


def digest(scan: Scan, extras: Node = None) -> str:
    """SHA-256 in hexadecimal of a scanned state and of the JSON value `extras`."""
    known: dict[int, list[Any]] = {}

    def content(value: object) -> Node:
        match value:
            case LeafNode(index=index):
                if index not in known:
                    known[index] = _content(scan, index)
                return known[index]
            case UnhashedNode():
                return None
            case _:
                raise TypeError(f"a skeleton cannot hold {type(value).__name__}")

    text = json.dumps([scan.root, extras], default=content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _content(scan: Scan, index: int) -> list[Any]:
    leaf = scan.leaves[index]
    grad = _content(scan, leaf.grad) if leaf.grad is not None else None
    hashed = hashlib.sha256()
    if leaf.library == "numpy":
        hashed.update(scan.objects[index].tobytes())
    else:
        tensor = scan.objects[index].detach().cpu().resolve_conj().resolve_neg().contiguous()
        size = tensor.numel() * tensor.element_size()
        if size:
            hashed.update(memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())))
    return [leaf.library, leaf.dtype, list(leaf.shape), leaf.requires_grad, hashed.hexdigest(), grad]
