"""Executors on this machine: one long-lived worker process each, contexts switched in place, weights in shared memory.

The supervisor's side (`LocalBackend`) loads neither torch nor numpy; a worker loads what its jobs load.
`load_checkpoint` and `restore` read durable checkpoints back. Names are imported when they are asked for: a worker
needs no asyncio.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagrl_local.backend import LocalBackend
    from dagrl_local.checkpoint import load_checkpoint
    from dagrl_local.state import restore

__all__ = ["LocalBackend", "load_checkpoint", "restore"]

_HOMES = {
    "LocalBackend": "dagrl_local.backend",
    "load_checkpoint": "dagrl_local.checkpoint",
    "restore": "dagrl_local.state",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
