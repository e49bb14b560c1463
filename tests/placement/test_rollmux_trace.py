from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from dagrl.errors import UsageError
from dagrl.placement import Placement
from dagrl.placement.consolidated import ConsolidatedPlacement
from dagrl.placement.exclusive import ExclusivePlacement
from dagrl.placement.replay import Outcome, bound, replay
from dagrl.placement.rollmux import RollmuxPlacement
from dagrl.rollmux_trace import COLOCATED, NO_CHARGES, TraceOptions, fleet, read_trace

TRACE = """\
job0, 2025-07-30 15:33:33, 1, 8B_8k
job1, 2025-07-30 15:34:33, 1, 32B_4k
job0, 2025-07-30 16:33:33, -1, 8B_8k

job1, 2025-07-30 17:33:33, -1, 32B_4k
"""
PROFILE = {
    "disagg": {"8B_8k": {"generate": 310.0, "train": 120.0}, "32B_4k": {"generate": 165.0, "train": 219.0}},
    "colo": {"8B_8k": {"generate": 189.0, "train": 119.0}, "32B_4k": {"generate": 174.0, "train": 204.0}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wild.trace").write_text(TRACE)
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    return tmp_path


def test_arrivals_and_departures_are_read_in_order(folder: Path) -> None:
    history = read_trace(folder, TraceOptions())
    assert [(entry.at, entry.name, entry.job is not None) for entry in history] == [
        (0, "job0", True),
        (60, "job1", True),
        (3600, "job0", False),
        (7200, "job1", False),
    ]


def test_a_job_knows_both_ways_with_all_charges(folder: Path) -> None:
    job = read_trace(folder, TraceOptions())[0].job
    assert job is not None
    own, shared = job.ways
    assert [(phase.pool, phase.seconds, phase.switch_seconds) for phase in own.phases] == [
        ("rollout", 310, 1.7),
        ("train", 120, 5.9),
    ]
    assert [(phase.pool, phase.seconds) for phase in shared.phases] == [("train", 189), ("train", 119)]
    assert own.sync_seconds == 3.9
    assert 1.1 <= job.max_slowdown <= 2.0


def test_sizes_that_were_not_measured_lie_between_their_neighbours(folder: Path) -> None:
    job = read_trace(folder, TraceOptions())[0].job
    assert job is not None
    assert 38.8 < job.move_seconds < 60.4
    assert 275.7e9 < job.ways[0].phases[0].host_bytes < 445.4e9


def test_a_32b_job_takes_two_nodes_to_sample_and_as_many_to_train_as_asked(folder: Path) -> None:
    for nodes in (1, 2):
        job = read_trace(folder, TraceOptions(wide_train_nodes=nodes))[1].job
        assert job is not None
        assert [phase.nodes for phase in job.ways[0].phases] == [2, nodes]


def test_a_seed_draws_the_same_promises_again(folder: Path) -> None:
    one, two = (read_trace(folder, TraceOptions(seed=seed)) for seed in (1, 2))
    assert one == read_trace(folder, TraceOptions(seed=1))
    assert one != two


def test_a_missing_trace_is_the_users_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not RollMux's trace"):
        read_trace(tmp_path, TraceOptions())


def recorded(placement: Placement, options: TraceOptions) -> Outcome:
    folder = os.environ.get("DAGRL_ROLLMUX_DATA")
    if not folder:
        pytest.skip("DAGRL_ROLLMUX_DATA does not name a folder with wild.trace and profile.json")
    history = read_trace(Path(folder), options)
    outcome = replay(history, placement, fleet())
    least = bound(history, fleet())
    assert outcome.dollars_per_hour > least.rent > least.fractional_rent
    return outcome


FREE = TraceOptions(charges=NO_CHARGES)


@pytest.mark.slow
def test_jobs_alone_cost_what_the_paper_reports() -> None:
    assert recorded(ExclusivePlacement(), replace(FREE, wide_train_nodes=2)).dollars_per_hour == pytest.approx(
        945, abs=1
    )
    assert recorded(ExclusivePlacement(COLOCATED), FREE).dollars_per_hour == pytest.approx(709, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2345, 1, 2])
def test_rollmux_costs_what_the_paper_reports(seed: int) -> None:
    dollars = recorded(RollmuxPlacement(fleet()), replace(FREE, seed=seed)).dollars_per_hour
    assert dollars == pytest.approx(510, rel=0.03)
    assert 945 / dollars == pytest.approx(1.84, rel=0.03)
    assert 708.7 / dollars == pytest.approx(1.38, rel=0.03)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [2345, 1])
def test_consolidation_beats_it_with_everything_charged(seed: int) -> None:
    outcome = recorded(ConsolidatedPlacement(fleet()), TraceOptions(seed=seed))
    assert outcome.dollars_per_hour <= 425
    assert outcome.dollars_per_work_hour <= 520
    assert outcome.attainment >= 0.998
