from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagrl.bounds import tightest
from dagrl.errors import SpecError, UsageError
from dagrl.model import StepKind
from dagrl.policy import Candidate, Rank
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.workload import open_sources, played
from dagrl.workload.llmd import Terms, llmd

DATA = Path(__file__).parent.parent.parent.parent / "shared" / "data"
RECORDED = DATA / "llmd-replay" / "traces_sync.json"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded data is not part of the project")

#: Two jobs on two machines, each once.
SHOP = {
    "instance": "tiny",
    "machines": 2,
    "jobs": 2,
    "data": [
        {"job": 0, "operation": 0, "machine": 0, "duration": 3},
        {"job": 0, "operation": 1, "machine": 1, "duration": 2},
        {"job": 1, "operation": 0, "machine": 1, "duration": 2},
        {"job": 1, "operation": 1, "machine": 0, "duration": 4},
    ],
}


class LockQueue(FifoPolicy):
    """A trainer that is held from the train step to the sync, as the real system's lock is."""

    def rank(self, candidate: Candidate) -> Rank:
        return (candidate.step.kind is not StepKind.PROPAGATE, *super().rank(candidate))


def written(directory: Path, data: Any) -> str:
    file = directory / "anything"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(file)


def recording(*rows: tuple[str, int, str, float, float]) -> dict[str, Any]:
    keys = ("job", "step", "phase", "start_t", "dur_s")
    return {"locks": [], "phases": [dict(zip(keys, row, strict=True)) for row in rows]}


def test_a_job_shop_is_told_by_its_content(tmp_path: Path) -> None:
    (source,) = open_sources([written(tmp_path, SHOP)])
    assert source.name == "tiny"
    jobs = source.at(0).workload.jobs
    assert [[step.pool for step in job.steps] for job in jobs] == [["m0", "m1"], ["m1", "m0"]]
    assert played(source.at(0), FifoPolicy()).makespan_seconds == 7.0


def test_a_job_shop_operation_that_is_none_is_refused(tmp_path: Path) -> None:
    broken = {**SHOP, "data": [{"job": 0, "operation": 0, "machine": 0, "duration": -3}]}
    with pytest.raises(SpecError, match=r"data\[0\]: expected whole numbers"):
        open_sources([written(tmp_path, broken)])


def test_specs_are_one_workload_and_say_where_their_durations_come_from(project: Any) -> None:
    files = [str(project.directory / project.job(name)) for name in ("a", "b")]
    cluster = project.directory / project.cluster()
    (source,) = open_sources(files, cluster)
    assert [job.name for job in source.at(0).workload.jobs] == ["a", "b"]
    assert source.notes[0].startswith("durations of a: not known")


def test_a_cluster_is_for_specs_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--cluster is for specs"):
        open_sources([written(tmp_path, SHOP)], tmp_path / "cluster.yaml")


@pytest.mark.parametrize("data", [[1, 2], {"steps": 3}, {"phases": []}])
def test_json_of_no_known_kind_is_refused_with_the_kinds_there_are(tmp_path: Path, data: Any) -> None:
    with pytest.raises(SpecError, match="neither a workload file"):
        open_sources([written(tmp_path, data)])


def test_a_recording_plays_each_hold_with_its_swaps() -> None:
    rows = [
        ("A", 0, "init", 0.0, 1.0),
        ("A", 0, "init_sync", 1.0, 9.0),
        ("A", 0, "ckpt_trainer", 10.0, 2.0),
        ("A", 0, "generate", 12.0, 5.0),
        ("A", 0, "ckpt_sampler", 17.0, 3.0),
        ("A", 0, "reward_cpu", 20.0, 1.0),
        ("A", 1, "restore_trainer", 21.0, 2.0),
        ("A", 1, "train", 23.0, 7.0),
        ("A", 1, "ckpt_trainer", 30.0, 2.0),
    ]
    data = recording(*rows)
    assert played(llmd(data, "r").at(0), FifoPolicy()).makespan_seconds == 32.0
    assert played(llmd(data, "r", Terms(with_swaps=False)).at(0), FifoPolicy()).makespan_seconds == 23.0
    discarding = llmd(data, "r", Terms(discards_sampler=True)).at(0)
    assert played(discarding, FifoPolicy()).makespan_seconds == 32.0 - 2.75
    # The restore is hidden behind generating and scoring, and the sampler is ready as soon as the trainer.
    free = llmd(data, "r", Terms(one_pool_at_a_time=True, prefetches=True)).at(0)
    assert played(free, FifoPolicy()).makespan_seconds == 30.0


def test_a_recording_without_seconds_is_refused() -> None:
    with pytest.raises(SpecError, match=r"r: phases\[0\]: expected a phase"):
        llmd({"locks": [], "phases": [{"job": "A", "step": 0}]}, "r")


@needs_data
@pytest.mark.parametrize(("terms", "seconds"), [(Terms(), 12_188), (Terms(with_swaps=False), 11_652)])
def test_the_recorded_run_ends_at_the_exact_optimum(terms: Terms, seconds: int) -> None:
    data = json.loads(RECORDED.read_text())
    scenario = llmd(data, "r", terms).at(0)
    assert played(scenario, LockQueue()).makespan_seconds == pytest.approx(seconds, abs=0.6)
    assert played(scenario, ListPolicy()).makespan_seconds <= seconds + 0.5


@needs_data
def test_what_the_real_system_could_not_do_shortens_the_recorded_run() -> None:
    data = json.loads(RECORDED.read_text())
    recorded = played(llmd(data, "r").at(0), ListPolicy()).makespan_seconds
    changes = [Terms(discards_sampler=True), Terms(one_pool_at_a_time=True), Terms(prefetches=True)]
    ends = [played(llmd(data, "r", terms).at(0), ListPolicy()).makespan_seconds for terms in changes]
    together = Terms(discards_sampler=True, one_pool_at_a_time=True, prefetches=True)
    assert max(ends) < recorded
    assert played(llmd(data, "r", together).at(0), ListPolicy()).makespan_seconds < min(ends)


@needs_data
def test_the_bound_of_classic_instances_lies_below_the_best_known() -> None:
    best_known = json.loads((DATA / "jobshop" / "best_known.json").read_text())
    for name, (lowest, _) in best_known.items():
        scenario = open_sources([str(DATA / "jobshop" / f"{name}.json")])[0].at(0)
        assert 0.9 * lowest <= tightest(scenario.instance()).seconds <= lowest
