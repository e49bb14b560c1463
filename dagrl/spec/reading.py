"""Plain data against a model: all faults at their places, and what is left of the data without them.

Owns the words for what pydantic finds, and the salvage: faulty parts are taken out and the rest is read again, so that
a misspelt key does not hide the unknown step three lines below. Never looks at what the values mean.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dagrl.errors import Fault, InvariantError, did_you_mean
from dagrl.model import JsonValue
from dagrl.spec.fields import EXPECTED, got
from dagrl.spec.places import Path, Places
from dagrl.spec.scalars import listed
from dagrl.spec.schema import Section, section_at, stand_in

S = TypeVar("S", bound=Section)

#: What pydantic ends a location with when the key is wrong, and not the value.
_KEY = "[key]"


@dataclass(frozen=True, slots=True)
class Reading(Generic[S]):
    """What could be read of a document."""

    #: The document without its faulty parts; None when nothing is left.
    value: S | None
    faults: list[Fault]
    #: The parts that were taken out.
    removed: frozenset[Path] = frozenset()


def read_as(model: type[S], data: JsonValue, places: Places) -> Reading[S]:
    """Read a document as this model, leaving out what is faulty."""
    if not isinstance(data, dict):
        refused = places.was_refused(())
        return Reading(None, [] if refused else [places.at_value((), f"expected a mapping, {got(data)}")])
    try:
        return Reading(model.model_validate(data), [])
    except ValidationError as error:
        details = error.errors(include_url=False)
    found = [detail for detail in details if not places.was_refused(_path(detail))]
    value, removed = _salvage(model, data, details)
    return Reading(value, [_fault(model, detail, places) for detail in found], frozenset(removed))


def _salvage(model: type[S], data: dict[str, JsonValue], details: list[ErrorDetails]) -> tuple[S, set[Path]]:
    rest: dict[str, Any] = copy.deepcopy(data)
    removed = {_entry_of(_path(detail)) for detail in details}
    for path in removed:
        _replace(rest, path, stand_in(model, path))
    try:
        return model.model_validate(rest), removed
    except ValidationError as error:
        raise InvariantError(f"a salvaged document is still faulty: {error}") from error


def _path(detail: ErrorDetails) -> Path:
    return detail["loc"][:-1] if _is_about_key(detail) else detail["loc"]


def _is_about_key(detail: ErrorDetails) -> bool:
    return detail["type"] == EXPECTED and detail["loc"][-1:] == (_KEY,)


def _entry_of(path: Path) -> Path:
    """The entry of a mapping that this path is about; a list goes as a whole."""
    return tuple(takewhile(lambda part: isinstance(part, str), path))


def _replace(data: dict[str, Any], path: Path, value: JsonValue) -> None:
    """Put a value there, or take the entry out when there is none."""
    *outer, last = map(str, path)
    for part in outer:
        data = data.get(part, {})
    data.pop(last, None)
    if value is not None:
        data[last] = value


def _fault(model: type[Section], detail: ErrorDetails, places: Places) -> Fault:
    path = _path(detail)
    match detail["type"]:
        case "missing":
            return places.at_key(path[:-1], f"missing key {path[-1]!r}")
        case "extra_forbidden":
            section = section_at(model, path[:-1])
            known = section.model_fields if section else ()
            hint = did_you_mean(str(path[-1]), known) or f"; known: {listed(known)}"
            return places.at_key(path, f"unknown key {path[-1]!r}{hint}")
        case "model_type" | "model_attributes_type":
            return places.at_value(path, f"expected a mapping, {got(detail['input'])}")
        case _ if _is_about_key(detail):
            return places.at_key(path, detail["msg"])
        case _:
            return places.at_value(path, detail["msg"])
