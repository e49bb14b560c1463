from __future__ import annotations

from collections.abc import Callable

from dagrl.placement.model import Fleet, Group, LoopingJob, Node, Rule, Seat
from dagrl.placement.settle import Rentals, moves, settle


def group(number: int, *jobs: LoopingJob) -> Group:
    nodes = ((Node("rollout", number),), (Node("train", number),))
    return Group(tuple(Seat(job, job.ways[0], nodes) for job in jobs), (1.0,) * len(jobs), Rule.LAG)


def test_a_group_keeps_the_nodes_of_most_of_its_jobs(make_job: Callable[..., LoopingJob]) -> None:
    a, b, c = map(make_job, "abc")
    before = (group(7, a), group(8, b, c))
    after = settle(before, [group(0, a, b, c)], Rentals())
    assert after[0].nodes == {Node("train", 8), Node("rollout", 8)}
    assert [move.job for move in moves(before, after)] == ["a"]


def test_no_node_is_given_to_two_groups(make_job: Callable[..., LoopingJob]) -> None:
    a, b = map(make_job, "ab")
    rentals = Rentals()
    rentals.note([Node("train", 7), Node("rollout", 7)])
    after = settle((group(7, a, b),), [group(0, a), group(0, b)], rentals)
    assert [sorted(map(str, one.nodes)) for one in after] == [["rollout7", "train7"], ["rollout8", "train8"]]


def test_a_group_that_stays_is_the_same_group(make_job: Callable[..., LoopingJob]) -> None:
    stays = group(7, make_job("a"))
    after = settle((stays,), [stays, group(0, make_job("b"))], Rentals())
    assert after[0] is stays
    assert moves((stays,), after) == ()


def test_another_way_on_the_same_node_is_a_move(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    job = make_job("a", colocated=True)
    before = (group(7, job),)
    node = Node("train", 0)
    after = settle(before, [Group((Seat(job, job.ways[1], ((node,), (node,))),), (1.0,), Rule.LAG)], Rentals())
    assert [move.job for move in moves(before, after)] == ["a"]
    assert fleet.rent(after[0].nodes) == 3
