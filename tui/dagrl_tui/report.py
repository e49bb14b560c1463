"""The whole story of a run on a terminal: lanes, a closer look, tables, what was gained, what went wrong."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from dagrl.timeline import Comparison, Timeline
from dagrl_tui.gantt import Gantt, Legend
from dagrl_tui.tables import Executors, Jobs, failures, summary
from dagrl_tui.units import duration
from dagrl_tui.window import closer, whole


class Report:
    """A rich renderable: `console.print(Report(timeline, comparison))`."""

    def __init__(self, timeline: Timeline, comparison: Comparison | None = None) -> None:
        self._timeline = timeline
        self._comparison = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        timeline = self._timeline
        yield Text()
        yield Legend(timeline)
        yield Text()
        yield Gantt(timeline, whole(timeline))
        window = closer(timeline, options.max_width)
        if window is not None:
            yield Text(f"a closer look at {duration(window.seconds)} in the middle", "dim")
            yield Gantt(timeline, window)
        yield Executors(timeline)
        yield Text()
        yield Jobs(timeline, self._comparison)
        yield Text()
        yield from summary(timeline, self._comparison)
        yield from failures(timeline, ascii_only=options.ascii_only)
