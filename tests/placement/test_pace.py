from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.placement.cycle import node_seconds, stretches
from dagrl.placement.model import LoopingJob, Node, Phase, Rule, Seat, Way
from dagrl.placement.pace import fastest, slowdowns

TRAIN, R0, R1 = Node("train", 0), Node("rollout", 0), Node("rollout", 1)


def seat(job: LoopingJob, *sampling: Node) -> Seat:
    return Seat(job, job.ways[0], (sampling, (TRAIN,)))


@pytest.mark.parametrize("rule", list(Rule))
def test_a_job_alone_is_slowed_by_handing_over_weights_only(rule: Rule, make_job: Callable[..., LoopingJob]) -> None:
    assert slowdowns([seat(make_job("one", switch=5, sync=2), R0)], rule) == (1.1,)


@pytest.mark.parametrize("rule", list(Rule))
def test_two_alike_share_two_nodes_without_slowing_each_other(rule: Rule, make_job: Callable[..., LoopingJob]) -> None:
    assert slowdowns([seat(make_job("one"), R0), seat(make_job("two"), R0)], rule) == pytest.approx((1.0, 1.0))


def test_in_rounds_the_quick_wait_for_the_slow_in_queues_they_do_not(make_job: Callable[..., LoopingJob]) -> None:
    seats = [seat(make_job("slow", 90, 10), R0), seat(make_job("quick", 5, 5), R1)]
    assert slowdowns(seats, Rule.ROUND_ROBIN) == (1.0, 10.0)
    assert slowdowns(seats, Rule.FCFS)[1] < 1.2
    assert slowdowns(seats, Rule.LAG)[1] < 1.2


def test_lag_serves_the_impatient_first(make_job: Callable[..., LoopingJob]) -> None:
    seats = [seat(make_job(name, 10, 20, slowest), R0) for name, slowest in (("a", 3.0), ("b", 1.3), ("c", 3.0))]
    patient, impatient, _ = slowdowns(seats, Rule.LAG)
    assert impatient < 1.4
    assert patient > 2.0


def test_a_job_on_two_nodes_is_not_starved_by_jobs_on_one(make_job: Callable[..., LoopingJob]) -> None:
    wide = make_job("wide", 10, 1, width=2)
    seats = [seat(wide, R0, R1), seat(make_job("left", 10, 1), R0), seat(make_job("right", 11, 1), R1)]
    assert slowdowns(seats, Rule.FCFS)[0] < 3.0


def test_staleness_hides_the_shorter_phase(make_job: Callable[..., LoopingJob]) -> None:
    stale = [seat(make_job(name, 10, 10, staleness=1), node) for name, node in (("a", R0), ("b", R1))]
    assert slowdowns(stale[:1], Rule.LAG) == (0.5,)
    assert sum(slowdowns(stale, Rule.LAG)) == pytest.approx(2.0)


def test_the_fastest_rule_that_keeps_all_promises_is_taken(make_job: Callable[..., LoopingJob]) -> None:
    seats = [seat(make_job("slow", 90, 10), R0), seat(make_job("quick", 5, 5), R1)]
    group = fastest(seats, (Rule.ROUND_ROBIN, Rule.LAG))
    assert group.rule is Rule.LAG
    assert group.keeps_promises
    assert not fastest(seats, (Rule.ROUND_ROBIN,)).keeps_promises


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(5, 60), st.integers(5, 60), st.integers(0, 1), st.floats(1.1, 2.0)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([Rule.FCFS, Rule.LAG]),
)
def test_no_node_does_more_than_there_is_time_for(jobs: list[tuple[int, int, int, float]], rule: Rule) -> None:
    seats = []
    for number, (sample, train, place, slowest) in enumerate(jobs):
        way = Way("own", (Phase("rollout", sample), Phase("train", train)))
        seats.append(seat(LoopingJob(f"job{number}", (way,), slowest), Node("rollout", place)))
    slow = slowdowns(seats, rule)
    assert min(slow) >= 1 - 1e-9
    for node in node_seconds(stretches(seats)):
        used = sum(
            seconds / (slowdown * sitting.job.alone_seconds)
            for sitting, slowdown, loop in zip(seats, slow, stretches(seats), strict=True)
            for nodes, seconds in loop
            if node in nodes
        )
        assert used <= 1.12  # rates are measured over some iterations, not for ever
