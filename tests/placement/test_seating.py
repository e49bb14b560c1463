from __future__ import annotations

from collections.abc import Callable

from dagrl.placement.ledger import host_bytes, shortage
from dagrl.placement.model import Fleet, LoopingJob, Node, NodeKind, Seat
from dagrl.placement.seating import Seating, SeatingRules


def rent(seating: Seating, *jobs: LoopingJob) -> float | None:
    group = seating.best(jobs)
    return None if group is None else seating.fleet.rent(group.nodes)


def test_the_cheapest_seats_that_keep_all_promises_are_found(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    seating = Seating(fleet, SeatingRules())
    assert rent(seating, make_job("one")) == 4
    assert rent(seating, make_job("one"), make_job("two")) == 4
    assert rent(seating, make_job("three", 30, 5, 1.2), make_job("four", 30, 5, 1.2)) == 5
    assert rent(seating, make_job("five", 5, 30, 1.2), make_job("six", 5, 30, 1.2)) is None


def test_a_job_samples_on_the_trainers_node_where_that_is_cheaper(
    fleet: Fleet, make_job: Callable[..., LoopingJob]
) -> None:
    seating = Seating(fleet, SeatingRules())
    group = seating.best([make_job("one", colocated=True)])
    assert group is not None
    assert group.seats[0].way.name == "co-located"
    assert group.nodes == {Node("train", 0)}


def test_a_group_has_no_more_trainers_than_its_widest_job_needs(
    fleet: Fleet, make_job: Callable[..., LoopingJob]
) -> None:
    group = Seating(fleet, SeatingRules()).best([make_job(name, 1, 10, 3.0) for name in "abc"])
    assert group is not None
    assert [str(node) for node in sorted(group.nodes)] == ["rollout0", "train0"]


def test_larger_sets_than_allowed_are_refused(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    jobs = [make_job(name, 1, 1, 9.0) for name in "abc"]
    assert Seating(fleet, SeatingRules(max_group_size=2)).best(jobs) is None
    assert Seating(fleet, SeatingRules(max_group_size=3)).best(jobs) is not None


def test_a_promise_that_nothing_can_keep_still_gets_a_seat(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    group = Seating(fleet, SeatingRules()).best([make_job("late", sync=30)])
    assert group is not None
    assert not group.keeps_promises


def test_host_memory_keeps_jobs_apart(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    seating = Seating(fleet, SeatingRules())
    assert rent(seating, make_job("one", bytes_kept=50), make_job("two", bytes_kept=50)) == 4
    assert rent(seating, make_job("three", bytes_kept=50), make_job("four", bytes_kept=51)) is None


def test_the_ledger_names_the_node_and_the_numbers(make_job: Callable[..., LoopingJob]) -> None:
    job = make_job("one", bytes_kept=60, colocated=True)
    node = Node("train", 0)
    seats = [Seat(job, job.ways[1], ((node,), (node,)))]
    assert host_bytes(seats) == {node: 120}
    assert (
        shortage(seats, Fleet((NodeKind("train", 3.0, 100),))) == "train0: 120 bytes of host memory needed, 100 there"
    )
    assert shortage(seats, Fleet((NodeKind("train", 3.0),))) is None


def test_what_was_found_is_remembered_until_a_job_changes(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    seating = Seating(fleet, SeatingRules())
    first = seating.best([make_job("one")])
    assert seating.best([make_job("one", 99, 99)]) is first
    seating.forget("one")
    assert seating.best([make_job("one", 99, 99)]) is not first
