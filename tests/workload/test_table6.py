from __future__ import annotations

from statistics import fmean, pstdev

import pytest

from dagrl.bounds import tightest
from dagrl.errors import UsageError
from dagrl.graph import check
from dagrl.model import START, TaskId
from dagrl.policy.fifo import FifoPolicy
from dagrl.workload import played
from dagrl.workload.draws import Fixed, Listed, Lognormal, Uniform, chance
from dagrl.workload.table6 import CASES, SHAPES, table6


@pytest.mark.parametrize("case", CASES)
def test_every_case_plays_and_ends_after_its_bound(case: str) -> None:
    scenario = table6(f"table6:{case}:3x2").at(1)
    cluster = scenario.workload.cluster
    assert not [fault for job in scenario.workload.jobs for fault in check(job, cluster)]
    timeline = played(scenario, FifoPolicy())
    assert timeline.is_complete
    assert timeline.makespan_seconds >= tightest(scenario.instance()).seconds > 0


def test_equal_seeds_give_equal_jobs_and_others_do_not() -> None:
    source = table6("table6:pools-warm")
    assert source.at(3).workload.jobs == source.at(3).workload.jobs
    assert source.at(3).workload.jobs != source.at(4).workload.jobs
    assert len(source.at(0).workload.jobs) == 6


def test_jobs_lie_in_the_published_ranges() -> None:
    jobs = [job for seed in range(20) for job in table6("table6:pools-warm").at(seed).workload.jobs]
    for number, job in enumerate(jobs):
        ranges = zip(SHAPES[number % 6 % 3], job.steps, strict=True)
        for sizes, step in ranges:
            assert any(size.low <= (step.expected_seconds or 0.0) <= size.high for size in sizes)
    assert fmean(job.iterations for job in jobs) == pytest.approx(8, abs=0.6)
    assert {job.iterations for job in jobs} == set(range(4, 13))


def test_iterations_vary_by_fifteen_percent() -> None:
    workload = table6("table6:pools-warm:1x400").at(0).workload
    mean = workload.jobs[0].steps[0].expected_seconds or 0.0
    drawn = [workload.draw(TaskId("job0", iteration, "rollout"), mean) for iteration in range(200)]
    assert fmean(drawn) == pytest.approx(mean, rel=0.03)
    assert pstdev(drawn) / mean == pytest.approx(0.15, rel=0.15)


@pytest.mark.parametrize("word", ["table6:", "table6:pools", "table6:pools-hot", "table6:pools-warm:0x3"])
def test_a_case_that_is_none_is_refused_with_all_there_are(word: str) -> None:
    with pytest.raises(UsageError, match="pools-warm, pools-medium"):
        table6(word)


def test_chance_is_even_and_depends_on_seed_and_name_alone() -> None:
    values = [chance(7, str(number)) for number in range(2000)]
    assert values == [chance(7, str(number)) for number in range(2000)]
    assert all(0 < value < 1 for value in values)
    assert fmean(values) == pytest.approx(0.5, abs=0.02)
    assert chance(7, "a") != chance(8, "a")


def test_distributions_have_the_mean_they_say() -> None:
    chances = [(number + 0.5) / 5000 for number in range(5000)]
    for duration in (Fixed(3.0), Lognormal.of(10.0, 0.3), Lognormal(10.0, 0.8), Uniform(2.0, 6.0)):
        assert fmean(duration.seconds(0, each) for each in chances) == pytest.approx(duration.mean_seconds, rel=0.01)
    assert Listed([100.0, 1.0, 3.0], START).mean_seconds == 2.0
