"""A timeline's numbers as tables and sentences: executors, jobs, what was gained, what went wrong.

Owns column order and wording. Numbers come from `dagrl.timeline` as they are; nothing is computed here but shares.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from dagrl.model import JobStatus
from dagrl.timeline import SWITCHING, Comparison, JobProgress, SpanKind, Timeline
from dagrl_tui.marks import Mark, marks
from dagrl_tui.units import bars, duration, number, share, size

_BAR_COLUMNS = 16
_WIDE_COLUMNS = 96
#: Like SIMPLE_HEAD, of characters that every terminal has.
_ASCII_BOX = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
STATUS_STYLES = {
    JobStatus.RUNNING: "",
    JobStatus.DONE: "green",
    JobStatus.FAILED: "bold red",
    JobStatus.CANCELLED: "yellow",
}


def _table(options: ConsoleOptions, *columns: str, left: int, names: int) -> Table:
    """A table of those columns, the first `left` aligned left; column `names` gives way where room is short."""
    gap = 2 if options.max_width >= _WIDE_COLUMNS else 1
    box = _ASCII_BOX if options.ascii_only else SIMPLE_HEAD
    table = Table(box=box, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim", show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < left else "right", no_wrap=index != names, overflow="fold")
    return table


class Executors:
    """A rich renderable: one row per executor, how it spent its time."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        end = self._timeline.makespan_seconds
        columns = ("executor", "duty", "compute", "switch", "wait", "idle", "switches", "saves", "moved")
        table = _table(options, *columns, left=1, names=0)
        for lane in self._timeline.lanes.values():
            table.add_row(
                lane.executor,
                Text(share(lane.duty_cycle(end)), "bold"),
                duration(lane.computing_seconds),
                duration(lane.switching_seconds),
                duration(lane.waiting_seconds),
                duration(lane.idle_seconds(end)),
                str(lane.switches),
                str(lane.totals[SpanKind.SAVE].count),
                size(lane.bytes(*SWITCHING)),
            )
        yield table


class Jobs:
    """A rich renderable: one row per job, with the course of its reward."""

    def __init__(self, timeline: Timeline, comparison: Comparison | None = None) -> None:
        self._timeline = timeline
        self._comparison = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = _table(options, "", "job", "status", "iterations", "s/iter", "slowdown", "reward", left=3, names=1)
        table.columns[-1].justify = "left"
        known = marks(self._timeline.jobs)
        width = _BAR_COLUMNS if options.max_width >= _WIDE_COLUMNS else _BAR_COLUMNS // 2
        for name, job in self._timeline.jobs.items():
            slowdown = self._comparison.slowdown(job) if self._comparison else None
            each = job.seconds_per_iteration
            table.add_row(
                badge(known[name]),
                name,
                Text(job.status.value, STATUS_STYLES[job.status]),
                f"{job.iterations_done}/{job.job.iterations}",
                "" if each is None else number(each),
                "" if slowdown is None else f"{slowdown:.2f}x",
                reward_course(job, known[name], width, ascii_only=options.ascii_only),
            )
        yield table


def badge(mark: Mark) -> Text:
    """The job's letter on its colour."""
    return Text(f" {mark.letter} ", Style(color=mark.ink, bgcolor=mark.colour, bold=True))


def reward_course(job: JobProgress, mark: Mark, width: int, *, ascii_only: bool) -> Text:
    """The reward at first and at last, over the tenth of the history at either end, and its course between."""
    rewards = job.rewards
    if not rewards:
        return Text()
    few = max(1, len(rewards) // 10)
    first, last = sum(rewards[:few]) / few, sum(rewards[-few:]) / few
    arrow = "->" if ascii_only else "→"
    text = Text(f"{number(first)} {arrow} {number(last)}  ")
    return text + Text(bars(rewards, width, ascii_only=ascii_only), Style(color=mark.colour))


def summary(timeline: Timeline, comparison: Comparison | None = None) -> Iterable[Text]:
    """What was gained and what it cost, a line for each; a run that is not complete has gained nothing yet."""
    end = timeline.makespan_seconds
    line = Text.assemble("makespan ", (duration(end), "bold"))
    if not timeline.is_complete:
        comparison = None
    if comparison is not None and end > 0 and len(timeline.jobs) > 1:
        known = "took" if comparison.sequential_is_measured else "with these durations"
        line.append(f"; one job after the other {known} {duration(comparison.sequential_seconds)}: ")
        line.append(comparison.verdict(end), "bold")
    yield line
    if comparison is not None and comparison.lower_bound_seconds > 0:
        above = end / comparison.lower_bound_seconds - 1
        yield Text(
            f"lower bound {duration(comparison.lower_bound_seconds)} ({comparison.binding_bound}): "
            f"{share(max(0.0, above))} above it"
        )
    yield _switching(timeline)


def _switching(timeline: Timeline) -> Text:
    lanes = timeline.lanes.values()
    switches = sum(lane.switches for lane in lanes)
    saves = sum(lane.totals[SpanKind.SAVE].count for lane in lanes)
    moved = sum(lane.bytes(*SWITCHING) for lane in lanes)
    cost = timeline.switching_seconds / timeline.computing_seconds if timeline.computing_seconds > 0 else 0.0
    text = Text(
        f"{switches} switches and {saves} saves moved {size(moved)} in {duration(timeline.switching_seconds)}: "
    )
    text.append(share(cost), "bold")
    text.append(" of the computing time")
    return text


def failures(timeline: Timeline, *, ascii_only: bool) -> Iterable[Text]:
    """What went wrong, job by job, with the log to read."""
    cross = "x" if ascii_only else "✗"
    for name, job in timeline.jobs.items():
        if job.status is JobStatus.CANCELLED:
            continue
        for failure in job.failures:
            text = Text.assemble((f"{cross} {failure.what}", "bold red"), f" on {failure.executor}: {failure.error}")
            yield text + Text(f"\n  see {failure.log}" if failure.log else "", "dim")
        if job.reason and not job.failures:
            yield Text.assemble((f"{cross} {name}", "bold red"), f": {job.reason}")
