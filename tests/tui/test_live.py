from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from dagrl.events import Record
from dagrl.model import Cluster, ExecutorSpec
from dagrl.timeline import Comparison, Timeline
from dagrl_tui.board import board
from dagrl_tui.live import LineView, LiveView, run_view

Shown = Callable[..., list[str]]
CLUSTER = Cluster((ExecutorSpec("rollout0", "rollout", memory_bytes=4096), ExecutorSpec("train0", "train")))


def plain(width: int = 80, encoding: str = "utf-8") -> Console:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return Console(file=file, width=width, no_color=True, legacy_windows=False)


def looks(timeline: Timeline, shown: Shown, now: float, width: int = 80, encoding: str = "utf-8") -> list[str]:
    options = plain(width, encoding).options
    comparison = Comparison(60.0, 40.0, "pool rollout", {"gcd": 2.75})
    return shown(board(timeline, CLUSTER, now, options, comparison), width=width, encoding=encoding)


def test_the_board_has_a_bar_per_job_and_a_line_per_executor(under_way: Timeline, shown: Shown) -> None:
    lines = looks(under_way, shown, 9.5)
    assert lines[0].startswith("0:10  3 of 3 jobs running")
    assert lines[1].split()[:2] == ["G", "gcd"]
    assert " 2/10  reward 0.10" in lines[1]
    assert "1.27x" in lines[1]
    assert lines[5].startswith("rollout0")
    assert "gcd/2/sample 1.5 s" in lines[5]
    assert "S:sampler G:sampler 50 % of 4.0 KiB" in lines[5]
    assert "·" in lines[6]


def test_the_time_left_is_that_of_the_slowest_job_once_all_have_done_an_iteration(
    timeline: Timeline, under_way: Timeline, shown: Shown
) -> None:
    assert "left" not in looks(under_way, shown, 8.0)[0]
    assert "left" not in looks(timeline, shown, 43.0)[0]
    del under_way.jobs["late"]
    assert "about 0:28 left" in looks(under_way, shown, 8.0)[0]


def test_a_job_that_has_ended_shows_how(timeline: Timeline, shown: Shown) -> None:
    lines = looks(timeline, shown, 43.0)
    assert lines[0].startswith("0:43  0 of 2 jobs running")
    assert lines[1].rstrip().endswith("done")
    assert lines[2].rstrip().endswith("failed")


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_board_fits_the_terminal(under_way: Timeline, shown: Shown, width: int, encoding: str) -> None:
    lines = looks(under_way, shown, 9.5, width, encoding)
    assert len(lines) == 1 + 3 + 1 + 2
    assert max(map(len, lines)) <= width


def test_the_columns_stay_where_they_are_while_tasks_change(under_way: Timeline, shown: Shown) -> None:
    before = looks(under_way, shown, 9.5)[5].index("G:sampler")
    under_way.lanes["rollout0"].pending.clear()
    assert looks(under_way, shown, 9.5)[5].index("G:sampler") == before


def test_a_live_view_draws_the_time_that_passes_between_two_records(records: list[Record]) -> None:
    times = [100.0]
    console = plain()
    view = LiveView(console, CLUSTER, now=lambda: times[-1])
    for record in records[:2]:
        view.update(record)
    times.append(102.4)
    console.print(view._draw())
    console.file.seek(0)
    assert console.file.read().startswith("0:02")


def test_a_live_view_leaves_the_screen_as_it_found_it(records: list[Record]) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, color_system=None, legacy_windows=False)
    with run_view(console, CLUSTER) as view:
        assert isinstance(view, LiveView)
        for record in records:
            view.update(record)
    assert "jobs running" in file.getvalue()
    assert file.getvalue().endswith("\x1b[2K")
    assert view.timeline.makespan_seconds == 42.5


def test_without_a_terminal_there_is_a_line_per_tenth_and_one_for_the_end(records: list[Record]) -> None:
    console = plain()
    with run_view(console, CLUSTER) as view:
        assert isinstance(view, LineView)
        for record in records:
            view.update(record)
    console.file.seek(0)
    lines = console.file.read().splitlines()
    assert lines[0] == "   0:03  gcd 1/10 iterations, reward 0.00"
    assert sum("gcd" in line for line in lines) == 11
    assert "   0:43  spell failed: spell/4/sample: ValueError: no such word" not in lines
    assert any(line.endswith("spell failed: spell/4/sample: ValueError: no such word") for line in lines)
    assert lines[-1].endswith("gcd done")
