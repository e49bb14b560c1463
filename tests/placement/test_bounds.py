from __future__ import annotations

from collections.abc import Callable

import pytest

from dagrl.placement.bounds import least_rent, least_work_dollars
from dagrl.placement.model import Fleet, LoopingJob, NodeKind


def test_a_job_pays_at_least_for_the_seconds_it_computes(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    assert least_work_dollars(make_job("one", 10, 10), fleet) == pytest.approx(0.5 * 3 + 0.5 * 1)
    assert least_work_dollars(make_job("one", 10, 10, width=2), fleet) == pytest.approx(0.5 * 3 + 0.5 * 2)


def test_whole_nodes_cost_more_than_parts_of_them(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    jobs = [make_job(name, 10, 10, 2.0) for name in "abc"]
    assert least_rent(jobs, fleet) == pytest.approx((4.0, 3 * 2.0 / 2.0))


def test_sampling_on_the_trainers_node_lowers_the_bound(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    assert least_rent([make_job("one")], fleet)[0] == 4
    assert least_rent([make_job("one", colocated=True)], fleet)[0] == 3


def test_jobs_may_split_over_their_ways(fleet: Fleet, make_job: Callable[..., LoopingJob]) -> None:
    jobs = [make_job(name, 16, 4, 2.0, colocated=True) for name in "abc"]
    assert least_rent(jobs, fleet)[0] == 4  # 1.5 nodes of work: a trainer full, the rest on one sampling node


def test_with_three_pools_only_the_dearest_is_rounded(make_job: Callable[..., LoopingJob]) -> None:
    three = Fleet((NodeKind("train", 3.0), NodeKind("rollout", 1.0), NodeKind("cpu", 0.1)))
    assert least_rent([make_job("one", 10, 10, 2.0)], three)[0] == pytest.approx(3 + 0.25)


def test_no_jobs_cost_nothing(fleet: Fleet) -> None:
    assert least_rent([], fleet) == (0, 0)
