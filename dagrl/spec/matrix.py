"""`matrix:`: one job for each combination of values.

Owns which keys may vary, the names of the jobs (`gcd-seed1-learning_rate0.001`) and the bound on how many there are.
Each combination is a document of its own, in which a varied value is placed where it stands in the matrix. Never looks
at what the values mean: that is judged once they are in place.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from dagrl.errors import Fault, did_you_mean
from dagrl.model import JsonValue
from dagrl.spec.fields import JOB_NAME, MAX_NAME, got
from dagrl.spec.loader import Document
from dagrl.spec.places import Path, Places

HERE: Path = ("matrix",)
MAX_JOBS = 1000

#: Besides these, anything under `params.`.
VARIED = ("iterations", "max_staleness", "seed", "priority", "weight", "threads")
_PARAM = re.compile(r"params(\.[^.]+)+")


def expand_matrix(document: Document) -> list[Document]:
    """One document for each combination; the document itself when it has no matrix, or a faulty one."""
    data, places = document.data, document.places
    if not isinstance(data, dict) or "matrix" not in data:
        return [document]
    own = {key: value for key, value in data.items() if key != "matrix"}
    faults = [] if places.was_refused(HERE) else list(_faults(data["matrix"], places))
    axes = data["matrix"]
    if faults or not isinstance(axes, dict) or not axes:
        return [Document(own, places, [*document.faults, *faults])]
    lists = [values if isinstance(values, list) else [] for values in axes.values()]
    keys = [tuple(key.split(".")) for key in axes]
    combinations = list(product(*(enumerate(values) for values in lists)))
    names = _names(own.get("job"), keys, [[value for _, value in combination] for combination in combinations])
    return [
        _document(own, document, name, dict(zip(keys, combination, strict=True)))
        for name, combination in zip(names, combinations, strict=True)
    ]


def _faults(axes: JsonValue, places: Places) -> Iterator[Fault]:
    if not isinstance(axes, dict) or not axes:
        yield places.at_value(HERE, f"expected a mapping of keys to lists of values, {got(axes)}")
        return
    for key, values in axes.items():
        here = (*HERE, key)
        if key not in VARIED and not _PARAM.fullmatch(key):
            hint = did_you_mean(key, VARIED) or f"; a matrix varies {', '.join(VARIED)} and params.NAME"
            yield places.at_key(here, f"cannot vary {key!r}{hint}")
        elif any(other.startswith(f"{key}.") for other in axes):
            yield places.at_key(here, f"cannot vary {key!r} and a part of it")
        if not isinstance(values, list) or not values:
            yield places.at_value(here, f"expected a list of values, {got(values)}")
        else:
            yield from _repeated(values, here, places)
    count = prod(len(values) for values in axes.values() if isinstance(values, list))
    if count > MAX_JOBS:
        yield places.at_key(HERE, f"makes {count} jobs; at most {MAX_JOBS} are allowed")


def _repeated(values: list[JsonValue], here: Path, places: Places) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, value in enumerate(values):
        text = json.dumps(value, sort_keys=True)
        if text in seen:
            yield places.at_value((*here, index), "the value stands twice")
        seen.add(text)


def _document(
    own: dict[str, JsonValue], document: Document, name: JsonValue, varied: dict[tuple[str, ...], tuple[int, JsonValue]]
) -> Document:
    data: dict[str, Any] = copy.deepcopy(own)
    data["job"] = name
    brought: dict[Path, Path] = {}
    for path, (index, value) in varied.items():
        section = data
        for part in path[:-1]:
            inner = section.get(part)
            section[part] = inner if isinstance(inner, dict) else {}
            section = section[part]
        section[path[-1]] = value
        brought[path] = (*HERE, ".".join(path), index)
    return Document(data, document.places.bring(brought), document.faults)


def _names(base: JsonValue, keys: list[tuple[str, ...]], combinations: list[list[JsonValue]]) -> list[JsonValue]:
    """A readable name for each job, or numbers where those are not unique or too long."""
    if not isinstance(base, str) or not JOB_NAME.fullmatch(base):
        return [base] * len(combinations)
    short = [key[-1] for key in keys]
    words = short if len(set(short)) == len(short) else ["_".join(key) for key in keys]
    readable = [
        "-".join([base, *(f"{_legal(word)}{_legal(value)}" for word, value in zip(words, values, strict=True))])
        for values in combinations
    ]
    if len(set(readable)) == len(readable) and all(len(name) <= MAX_NAME for name in readable):
        return list(readable)
    return [f"{base}-{number}" for number in range(1, len(combinations) + 1)]


def _legal(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("_")
