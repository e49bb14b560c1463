"""Captures and restores the state of a context: whatever a build function returned, in memory, in place, bit by bit."""

from dagrl_local.state.capture import Scan, capture
from dagrl_local.state.digest import digest
from dagrl_local.state.image import lay_out, read_tree
from dagrl_local.state.restore import restore
from dagrl_local.state.tree import RestoreError, Tree, UnsupportedStateError

__all__ = [
    "RestoreError",
    "Scan",
    "Tree",
    "UnsupportedStateError",
    "capture",
    "digest",
    "lay_out",
    "read_tree",
    "restore",
]
