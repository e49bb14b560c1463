from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.errors import InvariantError
from dagrl.placement.bounds import least_rent
from dagrl.placement.consolidate import Consolidation, Worth
from dagrl.placement.consolidated import ConsolidatedPlacement, ConsolidationRules
from dagrl.placement.ledger import shortage
from dagrl.placement.model import Fleet, LoopingJob, NodeKind, Phase, Way
from dagrl.placement.seating import Seating, SeatingRules

FLEET = Fleet((NodeKind("train", 3.0, 100), NodeKind("rollout", 1.0, 100)))
CHEAP_MOVES = Worth(move_dollars=0.1)


def rent(placement: ConsolidatedPlacement) -> float:
    return sum(placement.fleet.rent(group.nodes) for group in placement.groups)


def stranded(make_job: Callable[..., LoopingJob], worth: Worth) -> ConsolidatedPlacement:
    """Two groups of three, of which one job each is left."""
    placement = ConsolidatedPlacement(FLEET, ConsolidationRules(SeatingRules(max_group_size=3), worth))
    for number in range(6):
        placement.arrive(make_job(f"job{number}", 10, 10, 3.0, move=60), 0)
    assert [len(group.seats) for group in placement.groups] == [3, 3]
    for number in (0, 1, 4, 5):
        placement.depart(f"job{number}", 36_000)
    return placement


def test_what_departures_have_stranded_is_packed_again(make_job: Callable[..., LoopingJob]) -> None:
    placement = stranded(make_job, CHEAP_MOVES)
    assert rent(placement) == 8
    moves = placement.repack(36_000)
    assert [move.job for move in moves] in (["job2"], ["job3"])
    assert rent(placement) == 4


def test_nobody_moves_when_moving_costs_more_than_it_saves(make_job: Callable[..., LoopingJob]) -> None:
    placement = stranded(make_job, Worth(move_dollars=1000))
    assert placement.repack(36_000) == ()
    assert rent(placement) == 8


def test_a_second_search_at_once_finds_nothing(make_job: Callable[..., LoopingJob]) -> None:
    placement = stranded(make_job, CHEAP_MOVES)
    placement.repack(36_000)
    assert placement.repack(36_000) == ()


def test_a_job_that_has_just_come_is_seated_anew_for_nothing(make_job: Callable[..., LoopingJob]) -> None:
    placement = ConsolidatedPlacement(FLEET)
    placement.arrive(make_job("one", colocated=True), 0)
    assert rent(placement) == 4
    assert placement.repack(0) == ()
    assert rent(placement) == 3


def test_drift_that_breaks_a_promise_makes_jobs_move(make_job: Callable[..., LoopingJob]) -> None:
    placement = ConsolidatedPlacement(FLEET)
    placement.arrive(make_job("one", 10, 10, 1.3), 0)
    placement.arrive(make_job("two", 10, 10, 1.3), 0)
    placement.repack(0)
    placement.drift(make_job("two", 10, 30, 1.3), 3600)
    assert not all(group.keeps_promises for group in placement.groups)
    assert [move.job for move in placement.repack(3600)] in (["one"], ["two"])
    assert all(group.keeps_promises for group in placement.groups)


def test_a_job_that_drifts_must_still_know_its_way(make_job: Callable[..., LoopingJob]) -> None:
    placement = ConsolidatedPlacement(FLEET)
    placement.arrive(make_job("one", colocated=True), 0)
    placement.repack(0)
    with pytest.raises(InvariantError, match="no longer knows the way 'co-located'"):
        placement.drift(make_job("one"), 1)


def test_a_promise_that_nothing_can_keep_does_not_disturb_the_others(make_job: Callable[..., LoopingJob]) -> None:
    placement = ConsolidatedPlacement(FLEET)
    for job in (make_job("one"), make_job("late", sync=30), make_job("two")):
        placement.arrive(job, 0)
        placement.repack(0)
    assert sorted(sorted(group.names) for group in placement.groups) == [["late"], ["one", "two"]]


def test_a_search_that_ends_before_every_promise_is_kept_changes_nothing(make_job: Callable[..., LoopingJob]) -> None:
    placement = ConsolidatedPlacement(FLEET, ConsolidationRules(worth=Worth(steps=1)))
    for name in "abc":
        placement.arrive(make_job(name, 10, 10, 1.6), 0)
    assert len(placement.groups) == 1
    for name in "abc":
        placement.drift(make_job(name, 10, 90, 1.6), 1)
    before = placement.groups
    assert placement.repack(1) == ()
    assert placement.groups == before


def test_among_many_groups_the_changed_and_the_roomiest_are_searched(make_job: Callable[..., LoopingJob]) -> None:
    placement = ConsolidatedPlacement(FLEET, ConsolidationRules(worth=CHEAP_MOVES))
    for number in range(20):
        placement.arrive(make_job(f"full{number}", 5, 30, 1.2), 0)
    for name in ("one", "two"):
        placement.arrive(make_job(name, 10, 10, 1.2), 0)
    placement.drift(make_job("one", 10, 40, 1.2), 10)
    assert placement.repack(10)
    assert len(placement.groups) == 22


def test_of_two_steps_the_better_is_taken(make_job: Callable[..., LoopingJob]) -> None:
    jobs = {name: make_job(name, 30, 30, 2.0) for name in "abcd"}
    search = Consolidation(Seating(FLEET, SeatingRules()), CHEAP_MOVES, jobs, frozenset(), 10.0)
    packed = search.improve(frozenset({name}) for name in jobs)
    assert sum(map(search.dollars, packed)) < sum(search.dollars(frozenset({name})) for name in jobs)
    assert search.improve(packed) == packed
    assert sorted(name for share in search.build(sorted(jobs)) for name in share) == sorted(jobs)


JOBS = st.tuples(
    st.integers(10, 90),
    st.integers(10, 90),
    st.floats(1.15, 2.5),
    st.integers(1, 2),
    st.integers(5, 45),
    st.integers(0, 9),
)


def played(jobs: list[tuple[int, int, float, int, int, int]], rebuilds: int) -> list[object]:
    """What happens when these jobs come, the last number saying who goes; every law is checked on the way."""
    placement = ConsolidatedPlacement(FLEET, ConsolidationRules(worth=CHEAP_MOVES, rebuilds=rebuilds))
    running: dict[str, LoopingJob] = {}
    story: list[object] = []
    for number, (sample, train, slowest, width, kept, leaver) in enumerate(jobs):
        own = (Phase("rollout", sample, width, 1.0, kept), Phase("train", train, 1, 1.0, kept))
        shared = (Phase("train", sample, 1, 1.0, kept), Phase("train", train, 1, 1.0, kept))
        job = LoopingJob(f"job{number}", (Way("own", own, 0.5), Way("co-located", shared, 0.5)), slowest, 0, 5.0)
        placement.arrive(job, 1000.0 * number)
        running[job.name] = job
        if leaver in range(number):
            placement.depart(f"job{leaver}", 1000.0 * number) if f"job{leaver}" in running else None
            running.pop(f"job{leaver}", None)
        story.append(placement.repack(1000.0 * number))
        seats = [seat for group in placement.groups for seat in group.seats]
        assert sorted(seat.job.name for seat in seats) == sorted(running)
        assert all(group.keeps_promises for group in placement.groups)
        assert shortage(seats, FLEET) is None
        nodes = [node for group in placement.groups for node in group.nodes]
        assert len(nodes) == len(set(nodes))
        assert rent(placement) >= least_rent(running.values(), FLEET)[0] - 1e-6
        story.append(seats)
    return story


@settings(max_examples=15, deadline=None)
@given(st.lists(JOBS, min_size=1, max_size=7), st.integers(0, 2))
def test_no_job_is_lost_no_budget_exceeded_no_promise_broken_and_equal_input_gives_equal_moves(
    jobs: list[tuple[int, int, float, int, int, int]], rebuilds: int
) -> None:
    assert played(jobs, rebuilds) == played(jobs, rebuilds)
