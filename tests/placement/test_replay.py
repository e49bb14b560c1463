from __future__ import annotations

from collections.abc import Callable

import pytest

from dagrl.errors import InvariantError
from dagrl.placement.consolidated import ConsolidatedPlacement
from dagrl.placement.exclusive import ExclusivePlacement
from dagrl.placement.model import Fleet, LoopingJob, Move
from dagrl.placement.replay import Bounds, Happening, bound, replay
from dagrl.placement.rollmux import RollmuxPlacement


def history(*entries: tuple[float, str, LoopingJob | None]) -> list[Happening]:
    return [Happening(at, name, job) for at, name, job in entries]


def test_rent_work_and_slowdown_are_integrated_over_time(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    one, two = make_job("one", 10, 30, 2.0), make_job("two", 10, 30, 2.0)
    story = history((0, "one", one), (100, "two", two), (200, "one", None), (300, "two", None))
    outcome = replay(story, RollmuxPlacement(fleet), fleet)
    assert outcome.dollars_per_hour == 4  # one trainer and one sampling node throughout
    assert outcome.mean_slowdown == pytest.approx((100 + 2 * 100 * 1.5 + 100) / 400)
    assert outcome.max_slowdown == pytest.approx(1.5)
    work = 100 + 2 * 100 / 1.5 + 100
    assert outcome.dollars_per_work_hour == pytest.approx(4 * 400 / work)
    assert outcome.attainment == 1
    assert outcome.peak_nodes == {"train": 1, "rollout": 1}


def test_jobs_alone_pay_for_all_their_nodes(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    one = make_job("one", width=2, colocated=True)
    story = history((0, "one", one), (100, "one", None))
    assert replay(story, ExclusivePlacement(), fleet).dollars_per_hour == 5
    assert replay(story, ExclusivePlacement("co-located"), fleet).dollars_per_hour == 6


def test_a_job_alone_drifts_and_leaves(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    placement = ExclusivePlacement()
    placement.arrive(make_job("one"), 0)
    placement.drift(make_job("one", 40, 40), 1)
    assert placement.groups[0].seats[0].job.alone_seconds == 80
    assert placement.repack(1) == ()
    placement.depart("one", 2)
    with pytest.raises(InvariantError, match="'one' has no seat"):
        placement.depart("one", 3)
    assert fleet.dearest == "train"


def test_time_over_the_largest_slowdown_is_counted(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    story = history((0, "one", make_job("one", sync=30)), (100, "one", None))
    assert replay(story, ExclusivePlacement(), fleet).attainment == 0


class Restless(ExclusivePlacement):
    """Moves every job to other nodes whenever it may."""

    def repack(self, at: float) -> tuple[Move, ...]:
        moved = []
        for group in self.groups:
            self.drift(group.seats[0].job, at)
            moved.append(Move(group.seats[0].job.name, group.seats[0], self.groups[-1].seats[0]))
        return tuple(moved) if at else ()


def test_a_move_costs_work_attainment_and_the_nodes_that_are_left(
    fleet: Fleet, make_job: Callable[..., LoopingJob]
) -> None:
    one, two = make_job("one", 10, 10, move=60), make_job("two", 10, 10, move=60)
    story = history((0, "one", one), (0, "two", two), (1000, "two", None), (2000, "one", None))
    outcome = replay(story, Restless(), fleet)
    assert (outcome.moves, outcome.repacks) == (1, 1)
    assert outcome.attainment == pytest.approx(1 - 60 / 3000)
    left = 4 * (20 / 2 + 60)  # half an iteration and the move, for a trainer and a sampling node
    assert outcome.dollars_per_hour == pytest.approx((4 * 3000 + left) / 2000)
    assert outcome.dollars_per_work_hour == pytest.approx(outcome.dollars_per_hour * 3000 / (3000 - 60))


def test_the_bounds_are_below_every_placement(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    one, two = make_job("one", 20, 10), make_job("two", 10, 20)
    story = history((0, "one", one), (50, "two", two), (150, "one", None), (300, "two", None))
    least = bound(story, fleet)
    for placement in (ExclusivePlacement(), RollmuxPlacement(fleet), ConsolidatedPlacement(fleet)):
        outcome = replay(story, placement, fleet)
        assert outcome.dollars_per_hour >= least.rent >= least.fractional_rent
        assert outcome.dollars_per_work_hour >= least.work


def test_no_history_has_no_bound(fleet: Fleet) -> None:
    assert bound([], fleet) == Bounds(0, 0, 0)
