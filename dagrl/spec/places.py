"""Where each part of a spec stands, so that every fault names its line.

Owns paths (`("steps", "train", "needs", 0)`), their marks in one file, and what a recipe or a matrix brought along:
such a part has no mark of its own and is placed at the key that brought it. Never judges a value. A job that comes
from Python has no marks at all; its faults carry the job's name instead of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from dagrl.errors import Fault

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; lines and columns count from 1, columns in characters."""

    line: int
    column: int


NOWHERE = Mark(0, 0)


def shown(path: Path) -> str:
    """The path as people write it: `steps.train.needs[0]`; keys that cannot be printed are escaped."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if part.isprintable() and part else repr(part)
            text += f".{key}" if text else key
    return text


@dataclass(frozen=True, slots=True)
class Places:
    """The marks of one document: of values, and of the keys in front of them."""

    file: str
    values: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    #: Parts that were brought along, and the path of what brought them.
    brought: Mapping[Path, Path] = field(default_factory=dict)
    #: Values that were refused as they were read: somebody complained already.
    refused: set[Path] = field(default_factory=set)

    def bring(self, brought: Mapping[Path, Path]) -> Places:
        """The same places with more parts that have none of their own."""
        return replace(self, brought={**self.brought, **brought})

    def at_value(self, path: Path, message: str) -> Fault:
        """A fault at the value of this path, or at the nearest value around it."""
        return self.at_mark(_nearest(self.values, self._where(path)), path, message)

    def at_key(self, path: Path, message: str) -> Fault:
        """A fault at the key of this path; a list's item and the document itself have only a value."""
        where = self._where(path)
        return self.at_mark(self.keys.get(where) or _nearest(self.values, where), path, message)

    def at_mark(self, mark: Mark, path: Path, message: str) -> Fault:
        """A fault about this path that stands somewhere else."""
        prefix = self._brought_prefix(path)
        text = f"{shown(self.brought[prefix])}: {shown(path)}" if prefix else shown(path)
        return Fault(self.file, mark.line, mark.column, text, message)

    def was_refused(self, path: Path) -> bool:
        """Whether this value or one around it was refused already."""
        where = self._where(path)
        return any(where[:length] in self.refused for length in range(len(where) + 1)) or path in self.refused

    def _where(self, path: Path) -> Path:
        """The path in the file; the same one except for parts that were brought along."""
        prefix = self._brought_prefix(path)
        return self.brought[prefix] + path[len(prefix) :] if prefix else path

    def _brought_prefix(self, path: Path) -> Path:
        prefixes = (path[:length] for length in range(len(path), 0, -1))
        return next((prefix for prefix in prefixes if prefix in self.brought), ())


def _nearest(marks: Mapping[Path, Mark], path: Path) -> Mark:
    for length in range(len(path), -1, -1):
        if path[:length] in marks:
            return marks[path[:length]]
    return NOWHERE
