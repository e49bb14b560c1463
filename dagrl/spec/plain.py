"""Data from Python made as plain as data from YAML: text keys, JSON values, finite numbers, bounded.

Owns what a mapping from a recipe or from the builder may hold. Tuples become lists, and everything is copied, so that
nobody can change a job after it was checked. What is refused is None in the copy and its path is in `Places.refused`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dagrl.errors import Fault
from dagrl.model import JsonValue
from dagrl.spec.fields import got
from dagrl.spec.nodes import MAX_DEPTH
from dagrl.spec.places import Path, Places

#: About as much as the numbers that the YAML reader takes.
MAX_BITS = 1600


class PlainReader:
    """One walk over data from Python; `faults` and `places` fill up on the way."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.faults: list[Fault] = []
        self._around: set[int] = set()

    def read(self, value: object, path: Path = ()) -> JsonValue:
        """A copy in JSON's types."""
        match value:
            case None | bool():
                return value
            case str():
                return str(value)
            case int() if value.bit_length() <= MAX_BITS:
                return int(value)
            case float() if math.isfinite(value):
                return float(value)
            case int():
                return self._refuse(path, f"a number of {value.bit_length()} bits is too long")
            case float():
                return self._refuse(path, f"expected a finite number, got {value}")
            case Mapping() | list() | tuple():
                return self._collection(value, path)
            case _:
                return self._refuse(path, f"expected text, a number, a boolean, a list or a mapping, {got(value)}")

    def _collection(self, value: Mapping[object, object] | list[object] | tuple[object, ...], path: Path) -> JsonValue:
        if id(value) in self._around:
            return self._refuse(path, "holds itself")
        if len(path) >= MAX_DEPTH:
            return self._refuse(path, f"nested more than {MAX_DEPTH} levels deep")
        self._around.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self._mapping(value, path)
            return [self.read(item, (*path, index)) for index, item in enumerate(value)]
        finally:
            self._around.discard(id(value))

    def _mapping(self, value: Mapping[object, object], path: Path) -> dict[str, JsonValue]:
        copied: dict[str, JsonValue] = {}
        for key, item in value.items():
            if isinstance(key, str):
                copied[str(key)] = self.read(item, (*path, str(key)))
            else:
                self.faults.append(self.places.at_value(path, f"a key must be text, {got(key)}"))
        return copied

    def _refuse(self, path: Path, message: str) -> None:
        self.places.refused.add(path)
        self.faults.append(self.places.at_value(path, message))
