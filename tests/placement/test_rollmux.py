from __future__ import annotations

from collections.abc import Callable

import pytest

from dagrl.errors import InvariantError
from dagrl.placement.model import Fleet, LoopingJob, Node, Rule
from dagrl.placement.rollmux import RollmuxPlacement


@pytest.fixture
def placement(fleet: Fleet) -> RollmuxPlacement:
    return RollmuxPlacement(fleet, max_group_size=3)


def seats(placement: RollmuxPlacement) -> list[dict[str, list[str]]]:
    return [
        {seat.job.name: [" ".join(map(str, nodes)) for nodes in seat.nodes] for seat in group.seats}
        for group in placement.groups
    ]


def test_the_first_job_gets_a_group_of_its_own(
    placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]
) -> None:
    placement.arrive(make_job("one"), 0)
    assert seats(placement) == [{"one": ["rollout0", "train0"]}]


def test_a_job_is_packed_onto_nodes_that_are_there(
    placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]
) -> None:
    placement.arrive(make_job("one"), 0)
    placement.arrive(make_job("two"), 1)
    assert seats(placement) == [{"one": ["rollout0", "train0"], "two": ["rollout0", "train0"]}]


def test_sampling_is_scaled_when_the_sampling_node_is_full(
    placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]
) -> None:
    placement.arrive(make_job("one", 30, 5, 1.2), 0)
    placement.arrive(make_job("two", 30, 5, 1.2), 1)
    assert seats(placement) == [{"one": ["rollout0", "train0"], "two": ["rollout1", "train0"]}]


def test_a_job_that_would_break_a_promise_gets_a_group_of_its_own(
    placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]
) -> None:
    placement.arrive(make_job("one", 5, 30, 1.2), 0)
    placement.arrive(make_job("two", 5, 30, 1.2), 1)
    assert [group.names for group in placement.groups] == [{"one"}, {"two"}]


def test_no_group_grows_beyond_its_size(placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]) -> None:
    for number in range(4):
        placement.arrive(make_job(f"job{number}", 10, 10, 9.0), number)
    assert [len(group.seats) for group in placement.groups] == [3, 1]


def test_a_wide_job_takes_two_nodes_that_are_there_or_two_new_ones(
    placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]
) -> None:
    placement.arrive(make_job("one"), 0)
    placement.arrive(make_job("wide", width=2), 1)
    assert seats(placement) == [{"one": ["rollout0", "train0"], "wide": ["rollout1 rollout2", "train0"]}]


def test_a_departure_gives_back_nodes_but_moves_nobody(
    placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]
) -> None:
    placement.arrive(make_job("one", 30, 5, 1.2), 0)
    placement.arrive(make_job("two", 30, 5, 1.2), 1)
    placement.depart("one", 2)
    assert placement.repack(2) == ()
    assert seats(placement) == [{"two": ["rollout1", "train0"]}]
    placement.depart("two", 3)
    assert placement.groups == ()


def test_drift_changes_the_pace_and_nothing_else(
    placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]
) -> None:
    placement.arrive(make_job("one"), 0)
    placement.arrive(make_job("two"), 1)
    before = seats(placement)
    placement.drift(make_job("two", 40, 40), 2)
    assert seats(placement) == before
    assert not placement.groups[0].keeps_promises


def test_rounds_refuse_what_queues_allow(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    for rule, groups in ((Rule.ROUND_ROBIN, 2), (Rule.FCFS, 1)):
        placement = RollmuxPlacement(fleet, rule=rule)
        placement.arrive(make_job("slow", 90, 10), 0)
        placement.arrive(make_job("quick", 5, 5), 1)
        assert len(placement.groups) == groups


def test_a_stranger_cannot_leave(placement: RollmuxPlacement) -> None:
    with pytest.raises(InvariantError, match="'nobody' has no seat"):
        placement.depart("nobody", 0)


def test_new_nodes_are_never_old_ones(placement: RollmuxPlacement, make_job: Callable[..., LoopingJob]) -> None:
    placement.arrive(make_job("one"), 0)
    placement.depart("one", 1)
    placement.arrive(make_job("two"), 2)
    assert placement.groups[0].nodes == {Node("train", 1), Node("rollout", 1)}
