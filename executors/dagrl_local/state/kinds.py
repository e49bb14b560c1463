"""Which values can be captured, and who knows how: a table of kinds, filled by one module per library.

A library's kinds are only looked at once the library itself is loaded: a job that never imports torch gets no torch
from here. What comes first in the order below wins: an environment with `state_dict` is captured by its own method.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dagrl_local.state.tree import Node, RestoreError, UnsupportedStateError

if TYPE_CHECKING:
    from dagrl_local.state.capture import Walk
    from dagrl_local.state.restore import Restorer


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value."""

    #: `family.name`; the family is the module below that knows it.
    tag: str
    #: Whether a value is of this kind; asked once per type.
    matches: Callable[[Any], bool]
    #: From a live value to what the skeleton holds of it.
    capture: Callable[[Walk, Any], Node]
    #: From that, and the live value that stands in its place (or MISSING), to the restored value.
    restore: Callable[[Restorer, Any, Any], Any]
    #: Whether it matters that two places hold the very same object.
    identity: bool = True
    #: Whether `capture` returns a whole node, not what stands under the tag.
    is_leaf: bool = False
    #: Whether a value is of this kind when it is part of an environment.
    inner: Callable[[Any], bool] | None = None


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


#: Stands for a live value where there is none.
MISSING = _Missing()

#: Family, and the library without which no value of it can exist.
_FAMILIES = (
    ("plain", None),
    ("torch", "torch"),
    ("numpy", "numpy"),
    ("object", None),
    ("env", "gymnasium"),
)

_of_type: dict[type, Kind] = {}
_of_type_in_environments: dict[type, Kind] = {}


def kind_of(value: object, *, in_environment: bool = False) -> Kind:
    """The kind of a value. Raises UnsupportedStateError if it has none.

    Inside an environment any object of a plain Python class has one.
    """
    known = _of_type_in_environments if in_environment else _of_type
    kind = known.get(type(value))
    if kind is None:
        kind = next((kind for kind in _loaded() if kind.matches(value)), None)
        if kind is None and in_environment:
            kind = next((kind for kind in _kinds("env") if kind.inner and kind.inner(value)), None)
        if kind is None:
            name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
            raise UnsupportedStateError(
                f"a {name} cannot be saved; give it state_dict() and load_state_dict(), or leave it out of the context"
            )
        known[type(value)] = kind
    return kind


def kind_for(tag: str) -> Kind:
    """The kind with a tag. Raises RestoreError if there is none."""
    family = tag.partition(".")[0]
    if family in dict(_FAMILIES):
        for kind in _kinds(family):
            if kind.tag == tag:
                return kind
    raise RestoreError(f"the saved state holds an unknown kind of value, {tag!r}")


def _loaded() -> Iterator[Kind]:
    for family, library in _FAMILIES:
        if library is None or library in sys.modules:
            yield from _kinds(family)


def _kinds(family: str) -> tuple[Kind, ...]:
    kinds: tuple[Kind, ...] = import_module(f"dagrl_local.state.{family}_kinds").KINDS
    return kinds
