"""JSON text to plain data, and plain data to a workload file's model: all faults at once, each with its key's path.

Owns the words for what cannot be read. It knows no names and no durations.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dagrl.errors import Fault, SpecError, did_you_mean
from dagrl.model import JsonValue
from dagrl.spec.places import Path, shown
from dagrl.spec.scalars import clipped, listed
from dagrl.spec.schema import Section
from dagrl.workload.schema import ContextEntry, ExecutorsEntry, JobEntry, StepEntry, WorkloadFile

_KEY = "[key]"


def read_json(text: str, file: str) -> JsonValue:
    """The one value of a JSON text. Raises SpecError with the place where it is none."""
    try:
        return json.loads(text, object_pairs_hook=_mapping, parse_constant=_not_finite)
    except json.JSONDecodeError as error:
        raise SpecError([Fault(file, error.lineno, error.colno, "", f"not JSON: {error.msg}")]) from None
    except (ValueError, RecursionError) as error:
        raise SpecError([Fault(file, 0, 0, "", f"not JSON that can be used: {error}")]) from None


def read_workload_file(data: JsonValue, file: str) -> WorkloadFile:
    """The model of a workload file. Raises SpecError with all faults of its shape."""
    try:
        return WorkloadFile.model_validate(data)
    except ValidationError as error:
        raise SpecError(_fault(detail, file) for detail in error.errors(include_url=False)) from None


def _mapping(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in data:
            raise ValueError(f"the key {clipped(key)!r} stands twice in one mapping")
        data[key] = value
    return data


def _not_finite(text: str) -> Any:
    raise ValueError(f"expected a finite number, got {text}")


def _fault(detail: ErrorDetails, file: str) -> Fault:
    path = detail["loc"]
    if path[-1:] == (_KEY,):
        return Fault(file, 0, 0, shown(path[:-1]), detail["msg"])
    match detail["type"]:
        case "missing":
            return Fault(file, 0, 0, shown(path[:-1]), f"missing key {path[-1]!r}")
        case "extra_forbidden":
            known = _section(path[:-1]).model_fields
            hint = did_you_mean(str(path[-1]), known) or f"; known: {listed(known)}"
            return Fault(file, 0, 0, shown(path), f"unknown key {path[-1]!r}{hint}")
        case "model_type" | "model_attributes_type":
            return Fault(file, 0, 0, shown(path), "expected a mapping")
        case _:
            return Fault(file, 0, 0, shown(path), detail["msg"])


def _section(path: Path) -> type[Section]:
    match path:
        case ("executors", _):
            return ExecutorsEntry
        case ("jobs", _):
            return JobEntry
        case ("jobs", _, "contexts", _):
            return ContextEntry
        case ("jobs", _, "steps", _):
            return StepEntry
        case _:
            return WorkloadFile
