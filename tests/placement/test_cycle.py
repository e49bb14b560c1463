from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagrl.placement.cycle import cycle_seconds, load_fits, node_seconds, round_fits, stretches
from dagrl.placement.model import LoopingJob, Node, Phase, Seat, Way

TRAIN, R0, R1 = Node("train", 0), Node("rollout", 0), Node("rollout", 1)


def seat(job: LoopingJob, *sampling: Node) -> Seat:
    return Seat(job, job.ways[0], (sampling, (TRAIN,)))


def rounds(seats: list[Seat], count: int) -> float:
    """Seconds per round when every node serves the jobs in the order of the seats, one iteration of each per round."""
    free: dict[Node, float] = defaultdict(float)
    ends: list[list[float]] = [[] for _ in seats]
    for _ in range(count):
        for index, loop in enumerate(stretches(seats)):
            token = len(ends[index]) - 1 - seats[index].job.max_staleness
            now = ends[index][token] if token >= 0 else 0.0
            for nodes, seconds in loop:
                now = max([now, *(free[node] for node in nodes)]) + seconds
                free.update(dict.fromkeys(nodes, now))
            ends[index].append(now)
    half = count // 2
    return max((end[-1] - end[half - 1]) / (count - half) for end in ends)


@st.composite
def seatings(draw: st.DrawFn, widest: int = 1) -> list[Seat]:
    sampling = [Node("rollout", number) for number in range(draw(st.integers(1, 3)))]
    seconds = st.integers(1, 60)
    seats = []
    for number in range(draw(st.integers(1, 5))):
        nodes = tuple(draw(st.lists(st.sampled_from(sampling), min_size=1, max_size=widest, unique=True)))
        switch = draw(st.integers(0, 5))
        phases = (Phase("rollout", draw(seconds), len(nodes), switch), Phase("train", draw(seconds), 1, switch))
        job = LoopingJob(f"job{number}", (Way("own", phases, draw(st.integers(0, 5))),), 2.0)
        colocated = draw(st.integers(0, 4)) == 0
        seats.append(Seat(job, job.ways[0], ((TRAIN,), (TRAIN,)) if colocated else (nodes, (TRAIN,))))
    return seats


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seatings())
def test_the_closed_form_is_what_rounds_take(seats: list[Seat]) -> None:
    assert rounds(seats, 240) == pytest.approx(cycle_seconds(seats), rel=1e-9)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seatings(widest=2))
def test_where_phases_need_several_nodes_rounds_are_never_longer(seats: list[Seat]) -> None:
    seconds = rounds(seats, 240)
    assert max(node_seconds(stretches(seats)).values()) - 1e-6 <= seconds <= cycle_seconds(seats) + 1e-6


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seatings(), st.integers(1, 3))
def test_staleness_divides_the_loop_and_nothing_else(seats: list[Seat], staleness: int) -> None:
    stale = [Seat(replace(seat.job, max_staleness=staleness), seat.way, seat.nodes) for seat in seats]
    assert rounds(stale, 240) == pytest.approx(cycle_seconds(stale), rel=1e-9)


def test_a_round_is_the_longest_loop_until_a_node_is_busier(make_job: Callable[..., LoopingJob]) -> None:
    long, short = make_job("long", 30, 20), make_job("short", 10, 25)
    assert cycle_seconds([seat(long, R0), seat(short, R1)]) == 50
    assert cycle_seconds([seat(long, R0), seat(short, R1), seat(make_job("third", 1, 10), R1)]) == 55


def test_switches_are_charged_on_shared_nodes_only_and_handing_over_always(make_job: Callable[..., LoopingJob]) -> None:
    one, two = make_job("one", switch=2, sync=3), make_job("two", switch=2, sync=3)
    assert node_seconds(stretches([seat(one, R0)])) == {R0: 10, TRAIN: 13}
    assert node_seconds(stretches([seat(one, R0), seat(two, R1)])) == {R0: 10, R1: 10, TRAIN: 30}


def test_a_stale_job_may_overlap_its_own_iterations(make_job: Callable[..., LoopingJob]) -> None:
    assert cycle_seconds([seat(make_job("one", 12, 10), R0)]) == 22
    assert cycle_seconds([seat(make_job("one", 12, 10, staleness=1), R0)]) == 12


def test_what_fits_a_round_fits_the_load_but_not_the_other_way_round(make_job: Callable[..., LoopingJob]) -> None:
    alike = [seat(make_job("one"), R0), seat(make_job("two"), R1)]
    assert round_fits(alike)
    assert load_fits(alike)
    unlike = [seat(make_job("slow", 90, 10), R0), seat(make_job("quick", 5, 5), R1)]
    assert load_fits(unlike)
    assert not round_fits(unlike)


def test_no_jobs_take_no_time() -> None:
    assert cycle_seconds([]) == 0
