"""One look at a run that goes on: a bar per job, a line per executor.

Owns the wording and columns of the live display as a function of a timeline and a time, and nothing that moves.
"""

from __future__ import annotations

from rich.console import ConsoleOptions, Group
from rich.style import Style
from rich.table import Table
from rich.text import Text

from dagrl.model import Cluster, ExecutorSpec, JobStatus
from dagrl.timeline import Comparison, JobProgress, Pending, Timeline
from dagrl_tui.marks import Mark, marks
from dagrl_tui.tables import STATUS_STYLES, badge
from dagrl_tui.units import bars, clock, number, share, size

_COURSE_COLUMNS = 10
_REWARD_COLUMNS = 14
#: Columns of a job's line besides its bar.
_AROUND_BAR = 66
_LEAST_BAR, _MOST_BAR = 8, 40
_DOING_COLUMNS = 40


def board(
    timeline: Timeline, cluster: Cluster, now: float, options: ConsoleOptions, comparison: Comparison | None = None
) -> Group:
    """What to show at `now`, in seconds since the run began."""
    known = marks(timeline.jobs)
    jobs = _grid(6, giving=2)
    for name, job in timeline.jobs.items():
        jobs.add_row(*_job_row(job, known[name], options, comparison))
    executors = _grid(4, giving=3)
    executors.columns[2].min_width = _doing_columns(timeline)
    for spec in cluster.executors:
        executors.add_row(*_executor_row(spec, timeline, known, now, options))
    return Group(_headline(timeline, now), jobs, Text(), executors)


def _grid(columns: int, giving: int) -> Table:
    """A grid of which the column `giving` way is cut off where room is short."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for index in range(columns):
        grid.add_column(no_wrap=index != giving, overflow="crop")
    return grid


def _doing_columns(timeline: Timeline) -> int:
    """Room for every task of every job, so that the columns stay where they are."""
    tasks = (
        f"{name}/{job.job.iterations}/{step.name}" for name, job in timeline.jobs.items() for step in job.job.steps
    )
    return min(_DOING_COLUMNS, max(map(len, tasks), default=0) + len(" 99.9 s"))


def _headline(timeline: Timeline, now: float) -> Text:
    running = [job for job in timeline.jobs.values() if job.status is JobStatus.RUNNING]
    text = Text.assemble((clock(now), "bold"), f"  {len(running)} of {len(timeline.jobs)} jobs running")
    left = [_seconds_left(job) for job in running]
    known = [seconds for seconds in left if seconds is not None]
    if known and len(known) == len(left):
        text.append(f", about {clock(max(known))} left")
    return text


def _seconds_left(job: JobProgress) -> float | None:
    each = job.seconds_per_iteration
    return None if each is None else each * (job.job.iterations - job.iterations_done)


def _job_row(job: JobProgress, mark: Mark, options: ConsoleOptions, comparison: Comparison | None) -> list[Text]:
    slowdown = comparison.slowdown(job) if comparison else None
    rewards, style = job.rewards, Style(color=mark.colour)
    course = bars(rewards, _COURSE_COLUMNS, ascii_only=options.ascii_only)
    total = str(job.job.iterations)
    count = Text(f"{job.iterations_done:>{len(total)}}/{total}")
    status = Text(f"{slowdown:.2f}x" if slowdown is not None else "")
    if job.status is not JobStatus.RUNNING:
        status = Text(job.status.value, STATUS_STYLES[job.status])
    reward = Text(f"{job.reward_name} {number(rewards[-1])}".ljust(_REWARD_COLUMNS) if rewards else "")
    return [badge(mark), Text(job.job.name), _bar(job, style, options), count, reward + Text(course, style), status]


def _bar(job: JobProgress, style: Style, options: ConsoleOptions) -> Text:
    columns = max(_LEAST_BAR, min(_MOST_BAR, options.max_width - _AROUND_BAR))
    full, empty = ("#", "-") if options.ascii_only else ("━", "─")
    done = int(job.share_done * columns)
    return Text.assemble((full * done, style), (empty * (columns - done), "dim"), no_wrap=True)


def _executor_row(
    spec: ExecutorSpec, timeline: Timeline, known: dict[str, Mark], now: float, options: ConsoleOptions
) -> list[Text]:
    lane = timeline.lane(spec.name)
    return [
        Text(spec.name),
        Text(share(lane.duty_cycle(max(now, lane.last_end))), justify="right"),
        _doing(lane.running, known, now, options),
        _holding(spec, timeline, known),
    ]


def _doing(running: Pending | None, known: dict[str, Mark], now: float, options: ConsoleOptions) -> Text:
    if running is None:
        return Text("." if options.ascii_only else "·", "dim")
    verb = "" if running.verb == "run" else f"{running.verb} "
    seconds = max(0.0, now - running.since)
    mark = known[running.job]
    return Text.assemble((f"{verb}{running.subject}", Style(color=mark.colour)), (f" {seconds:.1f} s", "dim"))


def _holding(spec: ExecutorSpec, timeline: Timeline, known: dict[str, Mark]) -> Text:
    held = {context: place for context, place in timeline.resident.items() if place.executor == spec.name}
    text = Text(no_wrap=True, overflow="crop")
    for context in held:
        text.append(f"{known[context.job].letter}:{context.name} ", Style(color=known[context.job].colour))
    taken = sum(place.bytes or 0 for place in held.values())
    if held and spec.memory_bytes is not None:
        text.append(f"{share(taken / spec.memory_bytes)} of {size(spec.memory_bytes)}", "dim")
    elif taken:
        text.append(size(taken), "dim")
    return text
