from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dagrl.errors import SpecError
from dagrl.model import START, ContextId, Need, OnEvict, StepKind, TaskId
from dagrl.policy.fifo import FifoPolicy
from dagrl.workload import Scenario, open_sources, played
from dagrl.workload.resolve import workload_file

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "workloads.md"


@pytest.fixture
def documented() -> dict[str, Any]:
    block = re.search(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    data: dict[str, Any] = json.loads(block[1])
    return data


def scenario(data: dict[str, Any], seed: int = 0) -> Scenario:
    return workload_file(data, "w.json").at(seed)


def faults(data: dict[str, Any]) -> list[str]:
    with pytest.raises(SpecError) as caught:
        workload_file(data, "w.json")
    return [f"{fault.path}: {fault.message}" for fault in caught.value.faults]


def test_the_documented_example_says_what_the_page_says(documented: dict[str, Any]) -> None:
    read = scenario(documented)
    math, tuning = read.workload.jobs
    assert [executor.name for executor in read.workload.cluster.executors] == ["rollout0", "rollout1", "train", "cpu"]
    assert (math.priority, math.iterations, math.contexts[1].on_evict) == (1, 6, OnEvict.DISCARD)
    assert math.contexts[0].memory_bytes == 60 * 10**9
    sync = math.steps[3]
    assert (sync.kind, sync.context, sync.targets) == (StepKind.PROPAGATE, "actor", ("sampler",))
    assert (sync.pool, sync.also_pools) == ("train", ("rollout",))
    assert (tuning.steps[0].slots, tuning.steps[0].needs) == (2, (Need("fit", -1),))
    assert read.workload.arrivals == {"tuning": 600}
    assert read.workload.departures == {"tuning": 3000}
    assert sum(read.dollars_per_hour.values()) == pytest.approx(14.8 * 2 + 42.24)
    expected = read.workload.expected
    assert expected.tasks["math", "init.actor"].value == 40
    assert expected.operations["ContextEvicted", ContextId("math", "actor")].value == 4
    assert expected.operations["WeightsLoaded", ContextId("math", "sampler")].value == 1


def test_the_documented_example_plays_to_its_end(documented: dict[str, Any]) -> None:
    timeline = played(scenario(documented), FifoPolicy())
    assert [job.iterations_done for job in timeline.jobs.values()] == [6, 3]


def test_a_list_holds_each_iterations_seconds(documented: dict[str, Any]) -> None:
    draw = scenario(documented).workload.draw
    assert [draw(TaskId("tuning", i, "generate"), 0.0) for i in range(3)] == [90, 110, 70]


def test_a_propagates_list_starts_with_the_first_publication(documented: dict[str, Any]) -> None:
    documented["jobs"]["math"]["steps"]["sync"]["seconds"] = [100, 1, 2, 3, 4, 5, 6]
    draw = scenario(documented).workload.draw
    assert [draw(TaskId("math", i, "sync"), 0.0) for i in (START, 0, 5)] == [100, 1, 6]


def test_policies_meet_the_same_durations_and_seeds_other_ones(documented: dict[str, Any]) -> None:
    task = TaskId("math", 3, "sample")
    assert scenario(documented, 1).workload.draw(task, 0.0) == scenario(documented, 1).workload.draw(task, 9.0)
    assert scenario(documented, 1).workload.draw(task, 0.0) != scenario(documented, 2).workload.draw(task, 0.0)


def test_all_faults_of_the_shape_are_told_at_once_with_their_keys() -> None:
    told = faults(
        {
            "version": 2,
            "executors": {"t": {"pool": "train", "dollars": 3}},
            "jobs": {"a b": {"iterations": 0, "steps": {"s": {"kind": "trian", "seconds": {"mean": -1, "cv": 1}}}}},
        }
    )
    assert "executors.t.dollars: unknown key 'dollars' (did you mean 'dollars_per_hour'?)" in told
    assert any(each.startswith("jobs.a b: expected a name") for each in told)
    assert any(each.startswith("version: expected 1") for each in told)
    assert any("did you mean 'train'?" in each for each in told)
    assert any(each.startswith("jobs.a b.steps.s.seconds: expected seconds: a number") for each in told)
    assert any(each.startswith("jobs.a b.iterations: expected a whole number of 1 or more") for each in told)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("jobs.math.steps.score.needs", ["smaple"], "needs[0]: no step 'smaple' (did you mean 'sample'?)"),
        ("jobs.math.steps.train.context", "acter", "context: no context 'acter' (did you mean 'actor'?)"),
        ("jobs.math.steps.sync.target", [], "missing key 'target': a propagate names its target"),
        ("jobs.math.steps.train.source", "actor", "source: only a propagate has a source"),
        ("jobs.math.steps.sync.context", "actor", "context: a propagate runs in its source"),
        ("jobs.math.steps.score.pool", None, "missing key 'pool': a step without a context names one"),
        ("jobs.math.steps.train.pool", "cpu", "leave the key out"),
        ("jobs.math.steps.score.pool", "gpu", "the cluster has no pool 'gpu'"),
        ("jobs.math.steps.sync.also_pools", ["roll"], "also_pools[0]: no pool 'roll' (did you mean 'rollout'?)"),
        ("jobs.math.steps.sync.also_pools", ["train"], "say how many it occupies with 'slots'"),
        ("jobs.tuning.steps.generate.slots", 3, "pool 'rollout' has 2; it could never run"),
        ("jobs.tuning.steps.generate.seconds", [1, 2], "seconds: expected 3 numbers, one per iteration, got 2"),
        ("jobs.tuning.departure_seconds", 600, "departure_seconds: a job leaves after it has arrived"),
        ("jobs.math.steps.sample.needs", ["train"], "steps need each other in a circle"),
        ("jobs.math.contexts.actor.memory", "90GB", "it could never run"),
        ("jobs.math.steps", {}, "no steps: a job needs at least one"),
        ("executors", {}, "no executors: a workload needs at least one"),
        ("jobs.math.steps.sync.also_pools", "train", "expected a list of pools, got the text 'train'"),
    ],
)
def test_a_fault_of_meaning_is_told_at_its_key(documented: dict[str, Any], path: str, value: Any, told: str) -> None:
    data = copy.deepcopy(documented)
    *outer, last = path.split(".")
    place = data
    for key in outer:
        place = place[key]
    place[last] = value
    if value is None:
        del place[last]
    found = faults(data)
    assert any(told in each for each in found), found


def test_a_broken_file_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text('{"version": 1,\n "jobs": {},}')
    with pytest.raises(SpecError, match=r"broken.json:2:1\d: not JSON"):
        open_sources([str(file)])


@pytest.mark.parametrize("text", ['{"jobs": {}, "jobs": {}}', '{"jobs": NaN}', "[" * 100_000])
def test_json_that_means_nothing_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(text)
    with pytest.raises(SpecError, match="not JSON"):
        open_sources([str(file)])
