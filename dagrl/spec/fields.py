"""The types of a spec's values, each with words for what is expected.

Owns numbers in their ranges, names, durations and sizes. Strict: `"5"` is no number, `true` is not 1; a whole number is
fine where any number is. A value of the wrong type gives one message, `expected a whole number of 1 or more, got -1`,
whatever pydantic would have said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, PlainValidator
from pydantic_core import PydanticCustomError

from dagrl.errors import did_you_mean
from dagrl.model import Eviction, Need, OnEvict, StepKind
from dagrl.spec.scalars import clipped

E = TypeVar("E", bound=StrEnum)

#: The type of error that carries a message of this module.
EXPECTED = "expected"

MAX_COUNT = 10**9
MAX_SEED = 2**63 - 1
MAX_THREADS = 1024
MAX_NAME = 100

JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_DEVICE = re.compile(r"[a-z]+(:[0-9]+)?")
_NEED = re.compile(rf"({_NAME.pattern})(@-1)?")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)", re.ASCII)

_SECONDS = (86400.0, 3600.0, 60.0, 1.0)
_UNITS = {f"{prefix}B".lower(): 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))}
_UNITS |= {f"{prefix}iB".lower(): 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), start=1)}

#: Other names of step kinds, as frameworks call them.
KIND_ALIASES = {
    "generate": StepKind.SAMPLE,
    "rollout": StepKind.SAMPLE,
    "score": StepKind.REWARD,
    "verify": StepKind.REWARD,
    "update": StepKind.TRAIN,
    "update_weights": StepKind.PROPAGATE,
    "weight_sync": StepKind.PROPAGATE,
    "refit": StepKind.PROPAGATE,
}
_KINDS = {kind.value: kind for kind in StepKind if kind is not StepKind.INIT}


def got(value: object) -> str:
    """The value as a message names it, on one line."""
    match value:
        case None:
            return "got nothing"
        case bool():
            return f"got {str(value).lower()}"
        case str():
            return f"got the text '{clipped(value)}'"
        case int() | float():
            return f"got {clipped(repr(value))}"
        case dict():
            return "got a mapping"
        case list() | tuple():
            return "got a list"
        case _:
            return f"got a {type(value).__name__}"


def expected(what: str, value: object, hint: str = "") -> PydanticCustomError:
    """The error of a value that is not `what`."""
    return PydanticCustomError(EXPECTED, "{message}", {"message": f"expected {what}, {got(value)}{hint}"})


def _whole(least: int, most: int, what: str) -> PlainValidator:
    def read(value: Any) -> int:
        if type(value) is not int or value < least:
            raise expected(what, value)
        if value > most:
            raise expected(f"at most {most}", value)
        return value

    return PlainValidator(read)


def _version(value: object) -> int:
    if type(value) is not int or value != 1:
        raise expected("1, the version that this dagrl reads", value)
    return value


def _text(pattern: re.Pattern[str], what: str) -> PlainValidator:
    def read(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise expected(what, value)
        if len(value) > MAX_NAME:
            raise expected(f"at most {MAX_NAME} characters", value)
        return value

    return PlainValidator(read)


def _number(holds: Callable[[float], bool], what: str) -> PlainValidator:
    def read(value: Any) -> float:
        if type(value) not in {int, float} or not holds(value):
            raise expected(what, value)
        if value > MAX_COUNT:
            raise expected(f"at most {MAX_COUNT}", value)
        return float(value)

    return PlainValidator(read)


def seconds(value: object) -> float:
    """A duration in seconds: a number, or text like `90s`, `10m`, `1h30m`. Raises when it is neither."""
    what = "a duration in seconds, or like '90s', '10m' or '1h30m'"
    found = math.nan
    if type(value) in {int, float} and isinstance(value, int | float):
        found = float(value) if abs(value) <= MAX_COUNT else math.nan
    elif isinstance(value, str) and value and (match := _DURATION.fullmatch(value)) and len(value) <= MAX_NAME:
        found = math.fsum(float(count) * unit for count, unit in zip(match.groups("0"), _SECONDS, strict=True))
    if not 0 < found <= MAX_COUNT:
        raise expected(what, value)
    return found


def size_bytes(value: object) -> int:
    """A size in bytes: a whole number, or text like `512MiB` or `1GB`. Raises when it is neither."""
    what = "a size in bytes, or like '512MiB' or '1GB'"
    found = 0
    if type(value) is int:
        found = value
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value)) and len(value) <= MAX_NAME:
        found = int(float(match[1]) * _UNITS.get(match[2].lower(), 0))
    if not 0 < found <= MAX_SEED:
        raise expected(what, value)
    return found


def _kind(value: object) -> StepKind:
    known = _KINDS | KIND_ALIASES
    if isinstance(value, str) and value in known:
        return known[value]
    hint = did_you_mean(value, known) if isinstance(value, str) else ""
    raise expected("sample, reward, train, propagate or task", value, hint)


def _one_of(words: type[E]) -> PlainValidator:
    def read(value: Any) -> E:
        if isinstance(value, str) and value in set(words):
            return words(value)
        known = [word.value for word in words]
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        raise expected(" or ".join(known), value, hint)

    return PlainValidator(read)


def _need(value: object) -> Need:
    match = _NEED.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise expected("a step's name, or 'name@-1' for the iteration before", value)
    return Need(match[1], -1 if match[2] else 0)


def _callable(value: object) -> str:
    if isinstance(value, str) and value.isprintable() and all(value.rpartition(":")):
        return value
    raise expected("'package.module:function' or './file.py:function'", value)


def _list_of(what: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise expected(what, value)
        return tuple(value)

    return BeforeValidator(read)


def _one_or_many(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(value)
    raise expected("a context's name or a list of names", value)


def mapping_of(what: str) -> BeforeValidator:
    """Accepts a mapping, and nothing at all as an empty one."""

    def read(value: Any) -> Any:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise expected(f"a mapping of {what}", value)
        return value

    return BeforeValidator(read)


JobName = Annotated[str, _text(JOB_NAME, "a name of letters, digits, '.', '_' and '-'")]
Name = Annotated[str, _text(_NAME, "a name of letters, digits, '_' and '-' that starts with a letter")]
Device = Annotated[str, _text(_DEVICE, "a device like 'cpu', 'cuda' or 'cuda:0'")]
Positive = Annotated[int, _whole(1, MAX_COUNT, "a whole number of 1 or more")]
NotNegative = Annotated[int, _whole(0, MAX_COUNT, "a whole number of 0 or more")]
Whole = Annotated[int, _whole(-MAX_COUNT, MAX_COUNT, "a whole number")]
Seed = Annotated[int, _whole(0, MAX_SEED, "a whole number from 0 to 2**63 - 1")]
Threads = Annotated[int, _whole(1, MAX_THREADS, f"a whole number from 1 to {MAX_THREADS}")]
Weight = Annotated[float, _number(lambda value: value > 0, "a number above 0")]
ExpectedSeconds = Annotated[float, _number(lambda value: value >= 0, "a number of seconds, 0 or more")]
Version = Annotated[int, PlainValidator(_version)]
Duration = Annotated[float, PlainValidator(seconds)]
Size = Annotated[int, PlainValidator(size_bytes)]
Kind = Annotated[StepKind, PlainValidator(_kind)]
Evict = Annotated[OnEvict, _one_of(OnEvict)]
Evictions = Annotated[Eviction, _one_of(Eviction)]
Needs = Annotated[tuple[Annotated[Need, PlainValidator(_need)], ...], _list_of("a list of step names")]
Targets = Annotated[tuple[Name, ...], BeforeValidator(_one_or_many)]
CallableName = Annotated[str, PlainValidator(_callable)]
Params = Annotated[dict[str, Any], mapping_of("names to values")]
