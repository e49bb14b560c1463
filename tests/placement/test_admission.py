from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.errors import InvariantError, UsageError
from dagrl.placement.admission import Admission
from dagrl.placement.ledger import shortage
from dagrl.placement.model import Fleet, LoopingJob, NodeKind, Phase, Way
from dagrl.placement.seating import Seating, SeatingRules


@pytest.fixture
def admission(fleet: Fleet) -> Admission:
    return Admission(Seating(fleet, SeatingRules()))


def test_a_job_joins_a_group_that_has_room(admission: Admission, make_job: Callable[..., LoopingJob]) -> None:
    admission.admit(make_job("one"))
    assert admission.admit(make_job("two")).names == {"one", "two"}
    assert admission.seating.fleet.rent(admission.group_of("one").nodes) == 4


def test_a_job_brings_a_sampling_node_where_only_trainers_have_room(
    admission: Admission, make_job: Callable[..., LoopingJob]
) -> None:
    admission.admit(make_job("one", 30, 5, 1.2))
    assert len(admission.admit(make_job("two", 30, 5, 1.2)).nodes) == 3


def test_a_job_gets_nodes_of_its_own_where_nobody_has_room(
    admission: Admission, make_job: Callable[..., LoopingJob]
) -> None:
    admission.admit(make_job("one", 5, 30, 1.2))
    assert admission.admit(make_job("two", 5, 30, 1.2)).names == {"two"}


def test_of_groups_with_room_the_fullest_is_taken(admission: Admission, make_job: Callable[..., LoopingJob]) -> None:
    seating = admission.seating
    roomy = admission.admit(make_job("roomy", 10, 2))
    admission.replace((roomy,), ())
    tight = admission.admit(make_job("tight", 10, 10))
    admission.replace((), (seating.time(roomy.seats),))
    assert tight.names == {"tight"}
    assert admission.admit(make_job("new", 10, 6)).names == {"tight", "new"}


def test_admitting_moves_nobody(admission: Admission, make_job: Callable[..., LoopingJob]) -> None:
    seats = admission.admit(make_job("one")).seats
    assert admission.admit(make_job("two")).seats[:1] == seats


def test_between_what_is_needed_and_what_is_enough_it_simulates(
    admission: Admission, make_job: Callable[..., LoopingJob]
) -> None:
    admission.admit(make_job("slow", 30, 10, 2.0))
    assert admission.admit(make_job("quick", 12, 8, 1.9)).names == {"slow", "quick"}


def test_a_job_whose_state_fits_no_node_is_refused_with_the_numbers(
    admission: Admission, make_job: Callable[..., LoopingJob]
) -> None:
    with pytest.raises(
        UsageError, match="job 'big' fits no node: rollout0: 101 bytes of host memory needed, 100 there"
    ):
        admission.admit(make_job("big", bytes_kept=101))
    assert admission.groups == ()


def test_a_job_that_nothing_satisfies_runs_alone_as_fast_as_it_can(
    admission: Admission, make_job: Callable[..., LoopingJob]
) -> None:
    group = admission.admit(make_job("late", sync=30))
    assert group.names == {"late"}
    assert not group.keeps_promises


def test_a_stranger_has_no_group(admission: Admission) -> None:
    with pytest.raises(InvariantError, match="'nobody' has no seat"):
        admission.group_of("nobody")


JOBS = st.tuples(
    st.integers(10, 90), st.integers(10, 90), st.floats(1.15, 2.5), st.integers(1, 2), st.integers(5, 60), st.booleans()
)


@settings(max_examples=25, deadline=None)
@given(st.lists(JOBS, min_size=1, max_size=10))
def test_whoever_is_admitted_every_promise_and_every_budget_is_kept(
    jobs: list[tuple[int, int, float, int, int, bool]],
) -> None:
    fleet = Fleet((NodeKind("train", 3.0, 100), NodeKind("rollout", 1.0, 100)))
    admission = Admission(Seating(fleet, SeatingRules()))
    for number, (sample, train, slowest, width, kept, leaves) in enumerate(jobs):
        phases = (Phase("rollout", sample, width, 1.0, kept), Phase("train", train, 1, 1.0, kept))
        group = admission.admit(LoopingJob(f"job{number}", (Way("own", phases, 0.5),), slowest))
        assert group.keeps_promises
        assert shortage([seat for group in admission.groups for seat in group.seats], fleet) is None
        if leaves:
            admission.replace((group,), ())
    nodes = [node for group in admission.groups for node in group.nodes]
    assert len(nodes) == len(set(nodes))
