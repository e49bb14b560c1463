from __future__ import annotations

import math

import pytest

from dagrl_tui.units import bars, clock, duration, instant, number, share, size, ticks


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.00 s"), (0.42, "0.42 s"), (12.34, "12.3 s"), (59.94, "59.9 s"), (125.0, "2m 05s"), (3720.0, "1h 02m")],
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (512, "512 B"), (3 * 1024 + 205, "3.2 KiB"), (5 << 30, "5.0 GiB"), (1 << 60, "1048576 TiB")],
)
def test_a_size_has_the_unit_that_suits_it(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 %"), (0.0031, "0.31 %"), (0.098, "9.8 %"), (0.871, "87 %"), (1.0, "100 %")]
)
def test_a_share_has_two_figures(value: float, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (0.943, "0.94"),
        (-19.46, "-19.5"),
        (195.4, "195"),
        (1.2e-5, "1.2e-05"),
        (2e6, "2.0e+06"),
        (math.nan, "nan"),
    ],
)
def test_a_number_has_about_three_figures(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "0:00"), (42.4, "0:42"), (150.0, "2:30"), (3720.0, "1:02:00")])
def test_a_clock_shows_hours_only_when_there_are_some(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_ticks_are_round_and_within_the_axis() -> None:
    assert ticks(0.0, 100.0, 5) == [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    assert ticks(58.2, 62.9, 5) == [59.0, 60.0, 61.0, 62.0]
    assert ticks(0.0, 3600.0, 4) == [0.0, 1200.0, 2400.0, 3600.0]
    assert ticks(0.0, 30 * 86_400.0, 3) == [0.0, 10 * 86_400.0, 20 * 86_400.0, 30 * 86_400.0]


def test_labels_of_an_axis_are_all_of_one_kind() -> None:
    assert [instant(time, 20.0, 100.0) for time in (0.0, 80.0, 100.0)] == ["0:00", "1:20", "1:40"]
    assert [instant(time, 20.0, 90.0) for time in (0.0, 80.0)] == ["0 s", "80 s"]
    assert instant(112.5, 0.5, 200.0) == "112.5 s"
    assert instant(0.25, 0.05, 1.0) == "0.25 s"


def test_bars_show_the_course_of_a_series() -> None:
    assert bars([0.0, 1.0, 2.0, 3.0], 4) == "▁▃▆█"
    assert bars([0.0, 1.0, 2.0, 3.0], 2) == "▁█"
    assert bars([0.0, 7.0], 8, ascii_only=True) == ".@"
    assert bars([1.0, 1.0], 8) == "▁▁"
    assert bars([math.nan], 8) == ""
    assert bars([], 8) == ""
