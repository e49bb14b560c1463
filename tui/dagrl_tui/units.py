"""Numbers as people read them: durations, sizes, shares, ticks of an axis, a row of bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_BARS = "▁▂▃▄▅▆▇█"
_BARS_ASCII = ".:-=+*#@"
_DAY = 86_400
#: How far apart an axis may have its ticks, in seconds.
_STEPS = (
    *(factor * 10.0**exponent for exponent in range(-4, 1) for factor in (1, 2, 5)),
    *(10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0, 43_200.0, 86_400.0),
)


def duration(seconds: float) -> str:
    """`0.42 s`, `12.3 s`, `2m 05s`, `1h 02m`."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m"


def size(count: int) -> str:
    """`512 B`, `3.2 MiB`."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def share(value: float) -> str:
    """`87 %`, `0.31 %`: two figures."""
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


def number(value: float) -> str:
    """`0.94`, `19.5`, `195`, `1.2e-05`: about three figures."""
    amount = abs(value)
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 0.01 <= amount < 100:
        return f"{value:.2f}" if amount < 10 else f"{value:.1f}"
    return f"{value:.0f}" if 100 <= amount < 100_000 else f"{value:.1e}"


def ticks(start: float, end: float, at_most: int) -> list[float]:
    """Round times from `start` to `end`, about `at_most` of them, for an axis."""
    apart = (end - start) / max(1, at_most)
    step = next((step for step in _STEPS if step >= apart), _DAY * math.ceil(apart / _DAY))
    return [index * step for index in range(math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9) + 1)]


def instant(seconds: float, apart: float, end: float) -> str:
    """A time on an axis up to `end` with ticks `apart` seconds from each other: `0.25 s`, `40 s`, `2:30`, `1:02:00`."""
    if apart < 1:
        return f"{seconds:.{-math.floor(math.log10(apart) + 1e-9)}f} s"
    return f"{seconds:.0f} s" if end < 100 else clock(seconds)


def clock(seconds: float) -> str:
    """`0:42`, `2:30`, `1:02:00`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def bars(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """The course of `values` as a row of at most `width` bars, each the mean of its stretch."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite or width < 1:
        return ""
    count = min(width, len(finite))
    edges = [index * len(finite) // count for index in range(count + 1)]
    means = [sum(finite[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, span = min(means), max(means) - min(means)
    glyphs = _BARS_ASCII if ascii_only else _BARS
    return "".join(glyphs[int((mean - low) / span * (len(glyphs) - 1) + 0.5) if span else 0] for mean in means)
