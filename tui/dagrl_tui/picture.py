"""A timeline as an SVG picture: the whole run, a closer look, and what the jobs learned meanwhile.

Owns the layout, in pixels. It is one string of plain SVG with no script and no font of its own; it brings its own
ground, light or dark as the viewer's system wishes, so that it can be read on any page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

from dagrl.timeline import SWITCHING, Comparison, JobProgress, Lane, Span, SpanKind, Timeline
from dagrl_tui.marks import Mark, marks
from dagrl_tui.units import duration, instant, number, share, ticks
from dagrl_tui.window import Window, closer, whole

_WIDTH = 960
_MARGIN, _RIGHT = 20, 900
_LANE, _GAP, _BASELINE = 20, 5, 14
_AXIS_HEIGHT, _ZOOM_HEIGHT = 24, 22
_TICK_PIXELS = 90
#: Pixels of a letter of the labels, generously.
_LETTER = 6.6
_CURVE_HEIGHT = 70
#: How many spans of an average step's width the closer look has room for, times ten.
_CLOSER_CELLS = 90

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #3b4048 }
.title { font-size: 15px; font-weight: 600 } .faint { fill: #767d87 } .step { font-size: 11px; font-weight: 600 }
.ground { fill: #ffffff; stroke: #d5d9df } .track { fill: #eef0f3 } .line { stroke: #c3c8cf }
.zoom { fill: #8a919b; opacity: .18 } .frame { fill: none; stroke: #8a919b }
.failed { stroke: #d02020; stroke-width: 2 } .curve { fill: none; stroke-width: 2; stroke-linejoin: round }
@media (prefers-color-scheme: dark) {
text { fill: #d7dbe0 } .faint { fill: #8f97a1 } .ground { fill: #15181d; stroke: #343a42 } .track { fill: #22272e }
.line { stroke: #3d444d } }
"""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Seconds of a window to pixels between `left` and `_RIGHT`."""

    window: Window
    left: float

    @property
    def width(self) -> float:
        return _RIGHT - self.left

    @property
    def pixel_seconds(self) -> float:
        return self.window.seconds / self.width

    def x(self, seconds: float) -> float:
        inside = min(max(seconds, self.window.start), self.window.end)
        return self.left + (inside - self.window.start) / self.pixel_seconds


def write_svg(timeline: Timeline, path: Path, comparison: Comparison | None = None) -> None:
    """Write the picture. Raises OSError where that cannot be done."""
    path.write_text(svg(timeline, comparison), encoding="utf-8")


def svg(timeline: Timeline, comparison: Comparison | None = None) -> str:
    """The picture as one string."""
    known = marks(timeline.jobs)
    left = _MARGIN + 12 + _LETTER * max((len(executor) for executor in timeline.lanes), default=0)
    overview, window = _Scale(whole(timeline), left), closer(timeline, _CLOSER_CELLS)
    y = 76.0
    parts = [*_title(timeline, comparison), *_legend(timeline, known, 52), *_lanes(timeline, overview, known, y)]
    bottom = y + _panel_height(timeline)
    if window is not None:
        parts += _zoom(overview, window, y, bottom)
        parts += _lanes(timeline, _Scale(window, left), known, bottom + _ZOOM_HEIGHT)
        bottom += _ZOOM_HEIGHT + _panel_height(timeline)
    learned = [job for job in timeline.jobs.values() if len(job.rewards) > 1]
    if learned:
        parts += _curves(learned, known, bottom + 14)
        bottom += 14 + _CURVE_HEIGHT + 24
    parts.append(_text(_MARGIN, bottom + 20, _caption(timeline), "faint"))
    height = round(bottom + 36)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img"><style>{_STYLE}</style>'
        f'<rect class="ground" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start", fill: str = "") -> str:
    style = f' style="fill:{fill}"' if fill else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _title(timeline: Timeline, comparison: Comparison | None) -> Iterable[str]:
    end = timeline.makespan_seconds
    jobs, executors = len(timeline.jobs), len(timeline.lanes)
    yield _text(_MARGIN, 30, f"{jobs} jobs on {executors} executors in {duration(end)}", "title")
    speedup = comparison.speedup(end) if comparison and timeline.is_complete else None
    if comparison is not None and speedup is not None:
        estimate = "" if comparison.sequential_is_measured else "estimated "
        sequential = f"one job after the other ({estimate}{duration(comparison.sequential_seconds)})"
        gain = f"{comparison.verdict(end)}{' than' if speedup >= 1 else ' as'} {sequential}"
        yield _text(_WIDTH - _MARGIN, 30, gain, "title", "end")


def _legend(timeline: Timeline, known: dict[str, Mark], y: float) -> Iterable[str]:
    x = float(_MARGIN)
    for job in timeline.jobs:
        yield f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="12" height="12" rx="2" fill="{known[job].colour}"/>'
        yield _text(x + 18, y, job)
        x += 36 + _LETTER * len(job)


def _caption(timeline: Timeline) -> str:
    lanes = timeline.lanes.values()
    switches, saves = sum(lane.switches for lane in lanes), sum(lane.totals[SpanKind.SAVE].count for lane in lanes)
    cost = timeline.switching_seconds / (timeline.computing_seconds or 1.0)
    return (
        f"Low bars: saves, switches, checkpoints. {switches} switches and {saves} saves took {share(cost)} of the "
        f"computing time. Right: duty cycle."
    )


def _panel_height(timeline: Timeline) -> float:
    return len(timeline.lanes) * (_LANE + _GAP) + _AXIS_HEIGHT


def _lanes(timeline: Timeline, scale: _Scale, known: dict[str, Mark], y: float) -> Iterable[str]:
    window = scale.window
    for lane in timeline.lanes.values():
        yield _text(_MARGIN, y + _BASELINE, lane.executor)
        yield f'<rect class="track" x="{scale.left:.1f}" y="{y:.1f}" width="{scale.width:.1f}" height="{_LANE}"/>'
        for span in _visible(lane, scale):
            yield from _span(span, scale, known[span.job], y)
        yield _text(_WIDTH - 12, y + _BASELINE, share(window.duty_cycle(lane)), "faint", "end")
        y += _LANE + _GAP
    times = ticks(window.start, window.end, int(scale.width / _TICK_PIXELS))
    apart = times[1] - times[0] if len(times) > 1 else max(window.seconds, 1e-3)
    for time in times:
        yield f'<path class="line" d="M{scale.x(time):.1f} {y - _GAP:.1f}v5"/>'
        label = instant(time, apart, timeline.makespan_seconds)
        yield _text(scale.x(time), y + 13, label, "faint", "middle")


def _visible(lane: Lane, scale: _Scale) -> Iterable[Span]:
    """The spans in the window; alike ones that fall on the same pixel are drawn as one."""
    held: Span | None = None
    for span in lane.spans:
        if scale.window.seconds_of(span) < 0:
            continue
        if held is not None and _alike(held, span) and span.end - held.start < scale.pixel_seconds:
            held = replace(held, end=span.end)
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held


def _is_low(span: Span) -> bool:
    return span.kind in SWITCHING or span.kind is SpanKind.CHECKPOINT


def _alike(one: Span, other: Span) -> bool:
    return (one.job, one.ok, _is_low(one)) == (other.job, other.ok, _is_low(other))


def _span(span: Span, scale: _Scale, mark: Mark, y: float) -> Iterable[str]:
    left = scale.x(span.start)
    width = max(0.6, scale.x(span.end) - left)
    top, height = (y + _LANE * 0.6, _LANE * 0.4) if _is_low(span) else (y, _LANE)
    kind = "" if span.ok else ' class="failed"'
    place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    yield f'<rect{kind} {place} fill="{mark.colour}"/>'
    if not _is_low(span) and width > _LETTER * len(span.label) + 6:
        yield _text(left + width / 2, y + _BASELINE, span.label, "step", "middle", mark.ink)


def _zoom(overview: _Scale, window: Window, top: float, bottom: float) -> Iterable[str]:
    """Which part of the upper panel the lower one shows."""
    left, right = overview.x(window.start), overview.x(window.end)
    foot, next_top = bottom - _AXIS_HEIGHT - 2, bottom + _ZOOM_HEIGHT - 4
    place = f'x="{left:.1f}" y="{top - 3:.1f}" width="{right - left:.1f}" height="{foot - top + 3:.1f}"'
    yield f'<rect class="frame" {place}/>'
    shape = f"M{left:.1f} {foot:.1f}L{overview.left:.1f} {next_top:.1f}H{_RIGHT}L{right:.1f} {foot:.1f}Z"
    yield f'<path class="zoom" d="{shape}"/>'


def _curves(jobs: list[JobProgress], known: dict[str, Mark], y: float) -> Iterable[str]:
    """Each job's reward over its iterations, side by side."""
    gap = 24
    width = (_WIDTH - 2 * _MARGIN - gap * (len(jobs) - 1)) / len(jobs)
    for index, job in enumerate(jobs):
        left = _MARGIN + index * (width + gap)
        rewards = job.rewards
        low, high = min(rewards), max(rewards)
        span = (high - low) or 1.0
        points = " ".join(
            f"{left + place / (len(rewards) - 1) * width:.1f},{y + 20 + (high - reward) / span * _CURVE_HEIGHT:.1f}"
            for place, reward in enumerate(rewards)
        )
        said = f"{job.job.name}: {job.reward_name} {number(rewards[0])} → {number(rewards[-1])}"
        yield _text(left, y + 6, said)
        yield f'<path class="line" d="M{left:.1f} {y + 20 + _CURVE_HEIGHT:.1f}h{width:.1f}"/>'
        yield f'<polyline class="curve" points="{points}" stroke="{known[job.job.name].colour}"/>'
