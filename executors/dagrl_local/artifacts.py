"""What a step hands on, as a file: JSON, or safetensors with the JSON around the tensors in its header.

Values come back as what they were: arrays as numpy's, tensors as torch's on the CPU. Tuples come back as lists and
numpy's scalars as Python's numbers, as in JSON. Whoever reads an artifact of plain values needs neither library.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagrl.errors import UserError
from dagrl_local.files import complete_file
from dagrl_local.tensor_file import Entry, entry_of, is_array, is_tensor, open_tensors, write_tensors

_KEY = "dagrl.artifact"
_ALLOWED = "an artifact holds JSON values, numpy arrays and torch tensors, in dicts and lists"


class NoArtifactError(UserError):
    """A step returned something that cannot be handed on."""


def write_artifact(value: object, stem: Path) -> Path | None:
    """Store what a step returned as `stem` with an ending; nothing is stored for None.

    Raises NoArtifactError naming the place of what does not belong there.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise NoArtifactError(
            f"the step returned a value of type {_type(value)}; a step returns nothing, or a dict of names to values"
        )
    parts = _Parts()
    skeleton = parts.take(value, ())
    path = stem.with_name(stem.name + (".safetensors" if parts.entries else ".json"))
    with complete_file(path) as temporary:
        if parts.entries:
            document = json.dumps([skeleton, parts.entries])
            write_tensors(temporary, parts.values, {_KEY: document})
        else:
            temporary.write_text(json.dumps(skeleton), encoding="utf-8")
    return path


def read_artifact(path: Path) -> Mapping[str, Any]:
    """What `write_artifact` stored. Raises OSError if it is not there."""
    if path.suffix == ".json":
        plain: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return plain
    with open_tensors(path) as file:
        skeleton, entries = json.loads(file.metadata()[_KEY])
        for place, entry in entries:
            inside = skeleton
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = file.read(Entry(*entry))
    stored: Mapping[str, Any] = skeleton
    return stored


class _Parts:
    """The tensors and arrays of an artifact, taken out of it one by one."""

    def __init__(self) -> None:
        #: Place in the artifact, and how to read what stands there.
        self.entries: list[tuple[list[str | int], Entry]] = []
        self.values: dict[str, Any] = {}

    def take(self, value: object, place: tuple[str | int, ...]) -> Any:
        """The value as JSON, with None where a tensor was."""
        match value:
            case None | bool() | int() | float() | str():
                return value
            case Mapping():
                return {self._key(key, place): self.take(each, (*place, key)) for key, each in value.items()}
            case list() | tuple():
                return [self.take(each, (*place, index)) for index, each in enumerate(value)]
            case _:
                return self._take_tensor(value, place)

    def _take_tensor(self, value: Any, place: tuple[str | int, ...]) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.bool_ | numpy.integer | numpy.floating):
            return value.item()
        if not (is_tensor(value) or is_array(value)):
            raise NoArtifactError(
                f"the step's artifact has at {_shown(place)} a value of type {_type(value)}; {_ALLOWED}"
            )
        name = ".".join(map(str, place))
        while name in self.values:
            name += "_"
        try:
            entry = entry_of(name, value)
        except TypeError as error:
            raise NoArtifactError(f"the step's artifact has at {_shown(place)} {error}; {_ALLOWED}") from None
        self.values[name] = value
        self.entries.append((list(place), entry))
        return None

    def _key(self, key: object, place: tuple[str | int, ...]) -> str:
        if isinstance(key, str):
            return key
        where = _shown(place) if place else "its top level"
        raise NoArtifactError(f"the step's artifact has the key {key!r} at {where}; keys are strings, use {str(key)!r}")


def _shown(place: tuple[str | int, ...]) -> str:
    return "".join(f"[{key!r}]" for key in place)


def _type(value: object) -> str:
    of_type = type(value)
    return of_type.__qualname__ if of_type.__module__ == "builtins" else f"{of_type.__module__}.{of_type.__qualname__}"
