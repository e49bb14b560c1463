"""What a plain scalar means in YAML 1.2, and nothing of YAML 1.1.

`1e-3` is a number and `012` is twelve; `on`, `no`, `12:30`, `1_000` and `2026-11-30` are text. What stands in quotes
never comes here. Numbers that are not finite are refused: no setting means them, and JSON cannot hold them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import islice

#: Python refuses to read much longer ones, and nobody means them.
MAX_DIGITS = 400

#: Characters of a value that a message repeats.
MAX_SHOWN = 40

#: Names that a message repeats.
MAX_LISTED = 16

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TYPED = (_NULL, _BOOLEAN, _INTEGER, _FLOAT, _NOT_FINITE)


def is_null(text: str) -> bool:
    """Whether the plain scalar stands for nothing."""
    return _NULL.fullmatch(text) is not None


def is_text(text: str) -> bool:
    """Whether the plain scalar is text, and not a number, a boolean or nothing."""
    return not any(pattern.fullmatch(text) for pattern in _TYPED)


def plain_value(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar. Raises ValueError for a number that is not finite or far too long."""
    if is_null(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"expected a finite number, got {text}")
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise ValueError(f"expected a finite number, got {clipped(text)}, which is too large")
        return value
    return text


def clipped(text: str) -> str:
    """The text on one line and not too long, for a message."""
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def listed(words: Iterable[str]) -> str:
    """What there is to choose from, for a message: not all of it when that is much."""
    some = [clipped(word) for word in islice(words, MAX_LISTED + 1)]
    if len(some) > MAX_LISTED:
        some[MAX_LISTED:] = ["..."]
    return ", ".join(some) or "none"


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits is too long")
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
