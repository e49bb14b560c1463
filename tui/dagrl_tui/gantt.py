"""A timeline as text: one lane of letters per executor, with a time axis and a legend.

Owns how time becomes cells. A cell shows one of the jobs that used it, chosen so that along the lane each job has
letters in proportion to its time; a capital on its colour when the cell was busy for at least half, a small letter
when less. Letters alone carry the meaning: it reads the same without colour, and with ASCII only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from dagrl.timeline import SWITCHING, Lane, Span, SpanKind, Timeline
from dagrl_tui.marks import Mark, marks
from dagrl_tui.units import instant, share, ticks
from dagrl_tui.window import Window

#: Columns between two labels of the axis.
_TICK_COLUMNS = 11
_LEAST_COLUMNS = 10
#: A job is never shown for a column of whose busy time it has less than this.
_VISIBLE_SHARE = 0.2
#: From this busy share on, a cell is drawn in solid colour.
_SOLID_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs that are not letters."""

    idle: str
    switch: str
    checkpoint: str
    lost: str
    fill: str
    axis: str
    tick: str


UNICODE = Glyphs(idle="·", switch="▒", checkpoint="▪", lost="✗", fill="─", axis="─", tick="┴")
ASCII = Glyphs(idle=".", switch="%", checkpoint="^", lost="!", fill="-", axis="-", tick="+")


def glyphs(options: ConsoleOptions) -> Glyphs:
    """The signs that the console can show."""
    return ASCII if options.ascii_only else UNICODE


#: Who used a cell: a job, and whether it was switching.
_Owner: TypeAlias = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class _Cell:
    """What one column of a lane shows: a span, and how much of the column was used by anybody."""

    span: Span
    busy_share: float


@dataclass(slots=True)
class _Use:
    """What an owner did in one column: all its seconds there, and its largest piece."""

    span: Span
    piece_seconds: float = 0.0
    seconds: float = 0.0

    def add(self, span: Span, seconds: float) -> None:
        self.seconds += seconds
        if seconds >= self.piece_seconds:
            self.span, self.piece_seconds = span, seconds


def _uses(lane: Lane, window: Window, columns: int) -> list[dict[_Owner, _Use]]:
    """Per column, who used it."""
    width = window.seconds / columns
    used: list[dict[_Owner, _Use]] = [{} for _ in range(columns)]
    for span in lane.spans:
        if window.seconds_of(span) < 0:
            continue
        first = max(0, int((span.start - window.start) / width))
        last = min(columns - 1, int((span.end - window.start) / width))
        for column in range(first, last + 1):
            left = window.start + column * width
            seconds = max(0.0, min(span.end, left + width) - max(span.start, left))
            used[column].setdefault((span.job, span.kind in SWITCHING), _Use(span)).add(span, seconds)
    return used


def _cells(lane: Lane, window: Window, columns: int) -> list[_Cell | None]:
    """Per column, what it shows. Time that an owner used and was not shown for counts in the columns to come."""
    owed: dict[_Owner, float] = defaultdict(float)
    cells: list[_Cell | None] = []
    for uses in _uses(lane, window, columns):
        busy = sum(use.seconds for use in uses.values())
        if busy <= 0:
            cells.append(None)
            continue
        for owner, use in uses.items():
            owed[owner] += use.seconds
        visible = [owner for owner, use in uses.items() if use.seconds >= _VISIBLE_SHARE * busy]
        shown = max(visible, key=owed.__getitem__)
        owed[shown] -= busy
        cells.append(_Cell(uses[shown].span, busy * columns / window.seconds))
    return cells


def _runs(cells: Sequence[_Cell | None]) -> Iterable[tuple[_Cell | None, int]]:
    """Neighbouring cells of the same span, as one cell and their number; the fullest stands for all."""
    start = 0
    for index in range(1, len(cells) + 1):
        before, here = cells[start], cells[index] if index < len(cells) else None
        same = index < len(cells) and (before and before.span) is (here and here.span)
        if not same:
            run = [cell for cell in cells[start:index] if cell is not None]
            yield max(run, key=lambda cell: cell.busy_share, default=None), index - start
            start = index


def lane_text(lane: Lane, window: Window, columns: int, known: dict[str, Mark], signs: Glyphs) -> Text:
    """One lane as `columns` letters and signs."""
    text = Text(no_wrap=True)
    for cell, width in _runs(_cells(lane, window, columns)):
        if cell is None:
            text.append(signs.idle * width, Style(dim=True))
        else:
            text.append(*_run(cell, width, known[cell.span.job], signs))
    return text


def _run(cell: _Cell, width: int, mark: Mark, signs: Glyphs) -> tuple[str, Style]:
    span = cell.span
    solid = Style(color=mark.ink, bgcolor=mark.colour, bold=True)
    if span.kind is SpanKind.LOST or not span.ok:
        return signs.lost * width, Style(color="red", bold=True)
    if span.kind in SWITCHING:
        return signs.switch * width, Style(color=mark.colour)
    if span.kind is SpanKind.CHECKPOINT:
        return signs.checkpoint * width, Style(color=mark.colour)
    if cell.busy_share < _SOLID_SHARE:
        return mark.letter.lower() * width, Style(color=mark.colour)
    label = f" {span.label}" if width >= len(span.label) + 2 else ""
    return (mark.letter + label).ljust(width, " " if label else signs.fill), solid


def axis_texts(window: Window, columns: int, makespan_seconds: float, signs: Glyphs) -> tuple[Text, Text]:
    """The labels of the time axis and the line with its ticks."""
    times = ticks(window.start, window.end, max(1, columns // _TICK_COLUMNS))
    apart = times[1] - times[0] if len(times) > 1 else max(window.seconds, 1e-3)
    labels, line = [" "] * columns, [signs.axis] * columns
    free = 0
    for time in times:
        column = min(columns - 1, round((time - window.start) / window.seconds * columns))
        line[column] = signs.tick
        label = instant(time, apart, makespan_seconds)
        left = min(max(0, column - len(label) // 2), columns - len(label))
        if left >= free:
            labels[left : left + len(label)] = label
            free = left + len(label) + 1
    return Text("".join(labels), Style(dim=True), no_wrap=True), Text("".join(line), Style(dim=True), no_wrap=True)


class Gantt:
    """A rich renderable: the lanes of a timeline within a window."""

    def __init__(self, timeline: Timeline, window: Window) -> None:
        self._timeline = timeline
        self._window = window

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = glyphs(options)
        lanes = self._timeline.lanes.values()
        known = marks(self._timeline.jobs)
        names = max((len(lane.executor) for lane in lanes), default=0)
        columns = max(_LEAST_COLUMNS, options.max_width - names - 9)
        labels, line = axis_texts(self._window, columns, self._timeline.makespan_seconds, signs)
        margin = Text(" " * (names + 2), no_wrap=True)
        yield margin + labels + Text("   duty", "dim")
        yield margin + line
        for lane in lanes:
            text = Text(f"{lane.executor:<{names}}  ", no_wrap=True)
            text += lane_text(lane, self._window, columns, known, signs)
            yield text + Text(f"{share(self._window.duty_cycle(lane)):>7}", "bold")
        yield Segment.line()


class Legend:
    """A rich renderable: what the letters and signs of a Gantt mean."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = glyphs(options)
        jobs = Text()
        for job, mark in marks(self._timeline.jobs).items():
            jobs.append(f" {mark.letter} ", Style(color=mark.ink, bgcolor=mark.colour, bold=True))
            jobs.append(f" {job}   ")
        yield jobs
        spans = [span for lane in self._timeline.lanes.values() for span in lane.spans]
        kinds = {span.kind for span in spans}
        meanings = [f"{signs.idle} waiting"]
        meanings += [f"{signs.switch} switching"] if kinds & set(SWITCHING) else []
        meanings += [f"{signs.checkpoint} checkpoint"] if SpanKind.CHECKPOINT in kinds else []
        meanings += [f"{signs.lost} failed"] if not all(span.ok for span in spans) else []
        meanings += ["small letter: busy less than half"]
        yield Text("   ".join(meanings), Style(dim=True))
