"""From YAML nodes to plain data, in one walk that keeps the place of every key and value.

Refuses what a spec must not hold, each at its place and all in one go: tags, keys that stand twice or are no text,
merge keys, aliases that hold themselves, deep nesting, aliases of aliases. A refused value is None in the data and its
path is in `Places.refused`, so that nobody complains about it a second time. Never knows what a key means.
"""

from __future__ import annotations

from typing import TypeGuard

import yaml

from dagrl.errors import Fault
from dagrl.model import JsonValue
from dagrl.spec.places import Mark, Path, Places
from dagrl.spec.scalars import clipped, is_text, plain_value

MAX_DEPTH = 64
#: Counted with every alias followed; a spec of 2,000 steps has about 30,000.
MAX_NODES = 50_000

#: Stand where a node has its tag; only a tag that somebody wrote is a string.
PLAIN = object()
QUOTED = object()


class _TooManyNodesError(Exception):
    """Ends the walk: what comes after that many nodes is not worth reading."""


class NodeReader:
    """One walk over the nodes of a document; `faults` and `places` fill up on the way."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.faults: list[Fault] = []
        self._seen = 0
        self._around: set[int] = set()

    def read(self, root: yaml.Node) -> JsonValue:
        """The document's data; None when it has more nodes than are looked at."""
        try:
            return self._value(root, ())
        except _TooManyNodesError:
            self._refuse((), f"more than {MAX_NODES} nodes once aliases are followed: that is refused")
            return None

    def _value(self, node: yaml.Node, path: Path) -> JsonValue:
        self._seen += 1
        if self._seen > MAX_NODES:
            raise _TooManyNodesError
        self.places.values[path] = _mark(node)
        if _has_tag(node.tag):
            return self._refuse(path, _tag_refused(node.tag))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._around:
            return self._refuse(path, "an alias of what it stands in")
        if len(path) >= MAX_DEPTH:
            return self._refuse(path, f"nested more than {MAX_DEPTH} levels deep")
        self._around.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self._value(child, (*path, index)) for index, child in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self._around.discard(id(node))

    def _mapping(self, node: yaml.Node, path: Path) -> dict[str, JsonValue]:
        data: dict[str, JsonValue] = {}
        for key_node, value_node in node.value:
            if complaint := _wrong_with_key(key_node):
                self.faults.append(self.places.at_mark(_mark(key_node), path, complaint))
                continue
            key: str = key_node.value
            inner = (*path, key)
            if key in data:
                complaint = f"the key stands twice, first on line {self.places.keys[inner].line}"
                self.faults.append(self.places.at_mark(_mark(key_node), inner, complaint))
                continue
            self.places.keys[inner] = _mark(key_node)
            data[key] = self._value(value_node, inner)
        return data

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> JsonValue:
        if "\0" in node.value:
            return self._refuse(path, "a NUL character cannot stand in a value")
        if node.tag is QUOTED:
            return str(node.value)
        try:
            return plain_value(node.value)
        except ValueError as error:
            return self._refuse(path, str(error))

    def _refuse(self, path: Path, message: str) -> None:
        self.places.refused.add(path)
        self.faults.append(self.places.at_value(path, message))


def _wrong_with_key(node: yaml.Node) -> str | None:
    if not isinstance(node, yaml.ScalarNode):
        return "a key must be text, not a list or a mapping"
    if _has_tag(node.tag):
        return _tag_refused(node.tag)
    if "\0" in node.value:
        return "a NUL character cannot stand in a key"
    if node.tag is PLAIN and node.value == "<<":
        return "merge keys (<<) are no part of YAML 1.2: write the keys out"
    if node.tag is PLAIN and not is_text(node.value):
        return f"a key must be text: write '{clipped(node.value)}' in quotes"
    return None


def _tag_refused(tag: str) -> str:
    return f"the tag '{clipped(tag)}' is refused: a spec is plain data"


def _has_tag(tag: object) -> TypeGuard[str]:
    return isinstance(tag, str)


def _mark(node: yaml.Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)
