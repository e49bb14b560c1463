"""Plug-ins by entry point: executors, policies, recipes, dagrl's own among them.

Owns the one way to look them up. An installed dagrl finds its own through its metadata, like those of any other
package. A bare checkout on the import path has no metadata, so there they are read from the `pyproject.toml` beside
it, where they are declared.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from dagrl.errors import UsageError, did_you_mean

_PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def plugins(group: str) -> dict[str, EntryPoint]:
    """The plug-ins of a group by name, to be loaded with `.load()`; what is installed goes before the checkout."""
    return _declared(group) | {entry.name: entry for entry in entry_points(group=group)}


def load_plugin(group: str, name: str, word: str) -> Any:
    """What the plug-in of that name refers to. Raises UsageError that calls it a `word` and names those there are."""
    found = plugins(group)
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise UsageError(f"no {word} {name!r} is installed{did_you_mean(name, found)}; installed: {known}")
    return found[name].load()


def _declared(group: str) -> dict[str, EntryPoint]:
    """What the checkout declares; nothing where dagrl is installed as a wheel."""
    if not _PYPROJECT.is_file():
        return {}
    project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8")).get("project", {})
    if project.get("name") != "dagrl":
        return {}
    declared = project.get("entry-points", {}).get(group, {})
    return {name: EntryPoint(name, value, group) for name, value in declared.items()}
