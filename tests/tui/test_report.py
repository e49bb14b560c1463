from __future__ import annotations

from collections.abc import Callable

import pytest

from dagrl.events import End, JobSubmitted, Record
from dagrl.model import Job, JobStatus, Step, StepKind
from dagrl.timeline import Comparison, Timeline
from dagrl_tui.report import Report
from dagrl_tui.tables import Executors, Jobs, failures, summary

Shown = Callable[..., list[str]]
COMPARISON = Comparison(63.75, 40.0, "pool rollout", {"gcd": 3.0, "spell": 2.0})


def cells(lines: list[str], first: str) -> list[str]:
    return next(line.split() for line in lines if first in line.split())


def test_executors_are_shown_with_their_duty_switches_and_saves(timeline: Timeline, shown: Shown) -> None:
    row = cells(shown(Executors(timeline)), "rollout0")
    assert row[:3] == ["rollout0", "68", "%"]
    assert row[-4:-2] == ["5", "10"]


def test_jobs_are_shown_with_status_iterations_slowdown_and_reward(timeline: Timeline, shown: Shown) -> None:
    lines = shown(Jobs(timeline, COMPARISON))
    assert cells(lines, "gcd")[:6] == ["G", "gcd", "done", "10/10", "3.90", "1.30x"]
    assert cells(lines, "spell")[:4] == ["S", "spell", "failed", "4/10"]
    assert "0.00 → 0.90" in " ".join(cells(lines, "gcd"))


def test_without_a_comparison_there_is_no_slowdown(timeline: Timeline, shown: Shown) -> None:
    assert not any("x" in line for line in shown(Jobs(timeline))[2:])


def test_the_summary_compares_with_one_job_after_the_other_and_with_the_lower_bound(complete: Timeline) -> None:
    makespan, bound, switching = (line.plain for line in summary(complete, COMPARISON))
    assert makespan == "makespan 42.5 s; one job after the other with these durations 1m 04s: 1.50x shorter"
    assert bound == "lower bound 40.0 s (pool rollout): 6.2 % above it"
    assert switching.startswith("5 switches and 10 saves moved 38.0 KiB in ")


def test_the_summary_does_not_call_a_longer_run_shorter(complete: Timeline) -> None:
    assert next(iter(summary(complete, Comparison(21.25, 0.0, "")))).plain.endswith("2.00x as long")


def test_a_run_that_is_not_complete_is_compared_with_nothing(timeline: Timeline) -> None:
    assert [line.plain.split()[0] for line in summary(timeline, COMPARISON)] == ["makespan", "5"]


def test_without_a_comparison_the_summary_has_the_makespan_alone(timeline: Timeline) -> None:
    assert [line.plain.split()[0] for line in summary(timeline)] == ["makespan", "5"]


def test_what_failed_is_named_with_its_log(timeline: Timeline) -> None:
    told = [text.plain for text in failures(timeline, ascii_only=True)]
    assert told == ["x spell/4/sample on rollout0: ValueError: no such word\n  see logs/spell/4.sample.log"]


def test_a_job_that_ended_for_a_reason_of_its_own_tells_it() -> None:
    job = Job("gcd", 1, (Step("sample", StepKind.SAMPLE, "cpu", run="m:s"),))
    seen = Timeline.of([Record(JobSubmitted(0.0, job), (End("gcd", JobStatus.FAILED, "its context was lost"),))])
    assert [text.plain for text in failures(seen, ascii_only=False)] == ["✗ gcd: its context was lost"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_report_fits_the_terminal(complete: Timeline, shown: Shown, width: int, encoding: str) -> None:
    lines = shown(Report(complete, COMPARISON), width=width, encoding=encoding)
    assert max(map(len, lines)) <= width
    story = "\n".join(lines)
    for part in ("G  gcd", "a closer look", "executor", "s/iter", "makespan", "lower bound", "spell/4/sample"):
        assert part in story


def test_long_names_are_folded_and_numbers_stay_whole(shown: Shown) -> None:
    job = Job("gcd-seed1-learning_rate0.001-num_prompts_per_step16", 1, (Step("s", StepKind.SAMPLE, "cpu", run="m:s"),))
    lines = shown(Jobs(Timeline.of([Record(JobSubmitted(0.0, job))])))
    assert any("0/1" in line and "running" in line for line in lines)
    assert max(map(len, lines)) <= 80
