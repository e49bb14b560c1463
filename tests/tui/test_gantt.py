from __future__ import annotations

from collections.abc import Callable

import pytest

from dagrl.timeline import Lane, Span, SpanKind, Timeline
from dagrl_tui.gantt import ASCII, UNICODE, Gantt, Legend, lane_text
from dagrl_tui.marks import marks
from dagrl_tui.window import Window, closer, whole

MARKS = marks(["gcd", "spell"])
Shown = Callable[..., list[str]]


def lane(*spans: tuple[str, float, float], kind: SpanKind = SpanKind.COMPUTE, ok: bool = True) -> Lane:
    made = Lane("rollout0")
    for job, start, end in spans:
        made.append(Span(kind, start, end, job, ok=ok))
    return made


def text(of: Lane, columns: int, end: float = 10.0) -> str:
    return lane_text(of, Window(0.0, end), columns, MARKS, UNICODE).plain


def test_a_cell_is_a_capital_where_the_executor_was_busy_and_a_dot_where_it_waited() -> None:
    assert text(lane(("gcd", 0.0, 2.0), ("spell", 4.0, 5.0)), 10) == "G─··S·····"


def test_a_cell_that_was_busy_for_less_than_half_is_a_small_letter() -> None:
    assert text(lane(("gcd", 0.0, 0.3), ("spell", 1.0, 1.6)), 4, end=4.0) == "gS··"


def test_a_span_with_room_for_it_is_labelled() -> None:
    assert text(lane(("gcd", 0.0, 10.0)), 12) == "G compute   "


def test_two_spans_of_one_job_are_told_apart() -> None:
    assert text(lane(("gcd", 0.0, 5.0), ("gcd", 5.0, 10.0)), 6) == "G──G──"


def test_jobs_have_letters_in_proportion_to_their_time_where_cells_are_too_wide_for_their_spans() -> None:
    spans = [
        (job, i + offset, i + offset + length)
        for i in range(100)
        for job, offset, length in (("gcd", 0.0, 0.25), ("spell", 0.25, 0.75))
    ]
    seen = text(lane(*spans), 20, end=100.0)
    assert seen.count("G") == 5
    assert seen.count("S") == 15


def test_switching_checkpoints_and_failures_have_signs_of_their_own() -> None:
    assert text(lane(("gcd", 0.0, 10.0), kind=SpanKind.RESTORE), 3) == "▒▒▒"
    assert text(lane(("gcd", 0.0, 10.0), kind=SpanKind.CHECKPOINT), 3) == "▪▪▪"
    assert text(lane(("gcd", 0.0, 10.0), ok=False), 3) == "✗✗✗"
    assert text(lane(("gcd", 0.0, 10.0), kind=SpanKind.LOST, ok=False), 3) == "✗✗✗"


def test_spans_outside_the_window_are_left_out() -> None:
    seen = lane_text(lane(("gcd", 0.0, 1.0), ("spell", 9.0, 10.0)), Window(2.0, 8.0), 6, MARKS, UNICODE)
    assert seen.plain == "······"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(timeline: Timeline, shown: Shown, width: int) -> None:
    lines = shown(Gantt(timeline, whole(timeline)), width=width)
    assert len(lines) == 2 + 3 + 1
    assert max(map(len, lines)) <= width


def test_each_executor_has_a_lane_with_its_share_of_computing(timeline: Timeline, shown: Shown) -> None:
    lanes = shown(Gantt(timeline, whole(timeline)))[2:5]
    assert [line.split()[0] for line in lanes] == ["rollout0", "train0", "cpu0"]
    assert lanes[2].endswith("   0 %")


def test_a_terminal_without_unicode_gets_ascii_only(timeline: Timeline, shown: Shown) -> None:
    lines = shown(Gantt(timeline, whole(timeline)), encoding="ascii") + shown(Legend(timeline), encoding="ascii")
    assert "G" in lines[2]
    assert "".join(lines).isascii()
    assert ASCII.idle in lines[4]


def test_the_legend_explains_every_sign_that_is_used(timeline: Timeline, shown: Shown) -> None:
    legend = " ".join(shown(Legend(timeline)))
    for part in ("G  gcd", "S  spell", "waiting", "switching", "checkpoint", "failed", "small letter"):
        assert part in legend


def test_the_closer_look_is_in_the_middle_and_shows_steps_at_readable_width(timeline: Timeline) -> None:
    window = closer(timeline, 60)
    assert window is not None
    assert 0 < window.start < window.end <= timeline.makespan_seconds
    assert 6 <= 1.9 / window.seconds * 60 <= 20


def test_a_run_that_is_short_needs_no_closer_look(timeline: Timeline) -> None:
    assert closer(timeline, 1000) is None
    assert closer(Timeline(["rollout0"]), 80) is None


def test_a_run_that_did_nothing_can_be_shown(shown: Shown) -> None:
    nothing = Timeline(["rollout0"])
    assert shown(Gantt(nothing, whole(nothing)))[2].startswith("rollout0  ····")
