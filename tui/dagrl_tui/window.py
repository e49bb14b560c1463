"""Which stretch of a run to look at more closely.

A whole run on one screen shows who used what and how densely; single steps are too short to see. A window of a few
iterations out of the middle shows the steps themselves and how they interlock.
"""

from __future__ import annotations

from dataclasses import dataclass

from dagrl.timeline import COMPUTING, Lane, Span, SpanKind, Timeline


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the run, in seconds."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start

    def seconds_of(self, span: Span) -> float:
        """How much of a span lies within; negative when it lies outside altogether."""
        return min(span.end, self.end) - max(span.start, self.start)

    def duty_cycle(self, lane: Lane) -> float:
        """Share of the window that the lane computed."""
        pieces = (self.seconds_of(span) for span in lane.spans if span.kind in COMPUTING)
        return sum(piece for piece in pieces if piece > 0) / self.seconds


def whole(timeline: Timeline) -> Window:
    """The whole run up to now."""
    return Window(0.0, max(timeline.makespan_seconds, 1e-9))


def closer(timeline: Timeline, cells: int) -> Window | None:
    """A stretch about the middle in which an average step is about ten of `cells` wide.

    None where the whole run is hardly longer than that.
    """
    steps = [span for lane in timeline.lanes.values() for span in lane.spans if span.kind is SpanKind.COMPUTE]
    if not steps:
        return None
    longest = sorted(span.seconds for span in steps)[len(steps) // 3 :]
    seconds = sum(longest) / len(longest) * cells / 10
    end = timeline.makespan_seconds
    if seconds <= 0 or seconds > end / 2:
        return None
    start = min((span.start for span in steps if span.start >= end / 2), default=end / 2)
    start = min(start, end - seconds)
    return Window(start, start + seconds)
