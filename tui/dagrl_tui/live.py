"""What `dagrl run` shows while it runs: a display that redraws itself, or plain lines where there is no terminal.

Owns when something is drawn; what is drawn is `board`'s. Records come in from the engine's thread, drawing happens in
rich's own, so that a bar moves and clocks tick while nothing is reported: a lock stands between the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live

from dagrl.events import End, Record
from dagrl.model import Cluster
from dagrl.timeline import Comparison, JobProgress, Timeline
from dagrl_tui.board import board
from dagrl_tui.units import clock, number

_REDRAWS_PER_SECOND = 4
#: Without a terminal, a job gets a line for each tenth of its iterations.
_LINES_PER_JOB = 10


class RunView(Protocol):
    """What the engine's caller feeds records to."""

    #: All that was shown so far.
    timeline: Timeline

    def update(self, record: Record) -> None:
        """Take in the next record."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def run_view(console: Console, cluster: Cluster, comparison: Comparison | None = None) -> RunView:
    """The view that fits the console: live on a terminal, lines elsewhere."""
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveView(console, cluster, comparison)
    return LineView(console, cluster)


class LiveView:
    """Redraws the board a few times a second; leaves the screen as it found it."""

    def __init__(
        self,
        console: Console,
        cluster: Cluster,
        comparison: Comparison | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timeline = Timeline(executor.name for executor in cluster.executors)
        self._console = console
        self._cluster = cluster
        self._comparison = comparison
        self._now = now
        self._updated = now()
        self._lock = Lock()
        self._live = Live(
            get_renderable=self._draw, console=console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True
        )

    def update(self, record: Record) -> None:
        """Take in the next record; it is seen at the next redraw."""
        with self._lock:
            self.timeline.add(record)
            self._updated = self._now()

    def _draw(self) -> Group:
        with self._lock:
            at = self.timeline.at + self._now() - self._updated
            return board(self.timeline, self._cluster, at, self._console.options, self._comparison)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()


class LineView:
    """Prints a line per job and tenth of its iterations, and one for its end."""

    def __init__(self, console: Console, cluster: Cluster) -> None:
        self.timeline = Timeline(executor.name for executor in cluster.executors)
        self._console = console
        self._told: dict[str, int] = {}

    def update(self, record: Record) -> None:
        """Take in the next record and print what is new by it."""
        self.timeline.add(record)
        for name, job in self.timeline.jobs.items():
            tenth = _LINES_PER_JOB * job.iterations_done // job.job.iterations
            if tenth > self._told.get(name, 0):
                self._told[name] = tenth
                self._print(self._progress(job))
        for decision in record.decisions:
            if isinstance(decision, End):
                reason = f": {decision.reason}" if decision.reason else ""
                self._print(f"{decision.job} {decision.status.value}{reason}")

    def _progress(self, job: JobProgress) -> str:
        rewards = job.rewards
        reward = f", {job.reward_name} {number(rewards[-1])}" if rewards else ""
        return f"{job.job.name} {job.iterations_done}/{job.job.iterations} iterations{reward}"

    def _print(self, line: str) -> None:
        self._console.print(f"{clock(self.timeline.at):>7}  {line}", markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put away."""
