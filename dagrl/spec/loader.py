"""A YAML file's bytes to plain data with places; every way in which a file cannot be read is a fault, not a traceback.

Owns the outside of a document: it exists, is UTF-8, not huge, well-formed, not empty and only one. libyaml's composer
makes the nodes and `nodes` reads them; PyYAML's constructors and its YAML 1.1 scalars are left out on purpose.
"""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from dagrl.errors import Fault
from dagrl.model import JsonValue
from dagrl.spec.nodes import PLAIN, QUOTED, NodeReader
from dagrl.spec.places import NOWHERE, Mark, Places
from dagrl.spec.scalars import is_null

MAX_BYTES = 4 * 2**20

#: What YAML calls printable, turned round.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Composer(yaml.CSafeLoader):
    """Makes nodes and gives none of them a type."""

    def resolve(self, _kind: Any, _value: Any, implicit: Any) -> Any:
        """Mark a node that has no tag with how it was written."""
        return PLAIN if implicit is True or (implicit and implicit[0]) else QUOTED


@dataclass(frozen=True, slots=True)
class Document:
    """One file's plain data, and what was found wrong while it was read."""

    data: JsonValue
    places: Places
    faults: list[Fault] = field(default_factory=list)


def shown_file(path: FilePath) -> str:
    """The path as the user gave it, with bytes that are no text escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_document(path: FilePath) -> Document:
    """Read a YAML file. Never raises: a file that cannot be read is a fault of the document."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except IsADirectoryError:
        return _refused(shown_file(path), NOWHERE, "is a directory: name the files in it")
    except FileNotFoundError:
        return _refused(shown_file(path), NOWHERE, "no such file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return _refused(shown_file(path), NOWHERE, f"cannot be read: {reason}")
    return parse_document(content, shown_file(path))


def parse_document(content: bytes, name: str) -> Document:
    """Parse a file's content; `name` is what faults call the file. Never raises."""
    if len(content) > MAX_BYTES:
        return _refused(name, NOWHERE, f"is larger than {MAX_BYTES // 2**20} MiB")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        mark = _mark_after(content[: error.start].decode())
        return _refused(name, mark, f"not UTF-8: byte 0x{content[error.start]:02x}; save the file as UTF-8")
    if odd := _UNPRINTABLE.search(text):
        return _refused(name, _mark_after(text[: odd.start()]), f"character U+{ord(odd[0]):04X} cannot stand in YAML")
    try:
        root = yaml.compose(text, Loader=_Composer)
    except yaml.MarkedYAMLError as error:
        return _refused(name, *_explained(error, text))
    if root is None or (root.tag is PLAIN and isinstance(root, yaml.ScalarNode) and is_null(root.value)):
        return _refused(name, Mark(1, 1), "the file is empty")
    reader = NodeReader(Places(name))
    return Document(reader.read(root), reader.places, reader.faults)


def _refused(name: str, mark: Mark, message: str) -> Document:
    places = Places(name)
    return Document(None, places, [places.at_mark(mark, (), message)])


def _mark_after(text: str) -> Mark:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Mark(len(lines), len(lines[-1]) + 1)


def _explained(error: yaml.MarkedYAMLError, text: str) -> tuple[Mark, str]:
    """What libyaml complains about, and in words what would be right where that can be told."""
    mark = error.problem_mark or error.context_mark
    place = Mark(mark.line + 1, mark.column + 1) if mark else NOWHERE
    problem = error.problem or "it cannot be read"
    if "another document" in problem:
        return place, "a second document starts here: a file holds one"
    if "cannot start any token" in problem:
        return place, _wrong_start(text, place)
    if "mapping values are not allowed" in problem:
        return place, "not YAML: no key can stand here (indentation, or a ': ' that needs quotes?)"
    if "undefined alias" in problem:
        return place, "not YAML: an alias without an anchor above it"
    context = f" {error.context}" if error.context else ""
    if context and error.context_mark:
        context += f" that starts on line {error.context_mark.line + 1}"
    return place, f"not YAML: {problem}{context}"


def _wrong_start(text: str, place: Mark) -> str:
    lines = text.split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    character = line[place.column - 1 : place.column]
    if character == "\t":
        return "not YAML: a tab cannot indent, use spaces"
    return f"not YAML: a value cannot start with {character!r}, put it in quotes"
