from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEYS = [
    "policy",
    "seed",
    "makespan_seconds",
    "lower_bound_seconds",
    "binding_bound",
    "switches",
    "switch_seconds",
    "mean_slowdown",
    "max_slowdown",
    "dollars_per_hour",
    "dollars_per_work_hour",
]


def test_json_has_one_object_per_policy_and_seed(project: Any) -> None:
    done = project.dagrl("simulate", "table6:pools-warm:3x2", "--policy", "fifo,lrs", "--seeds", "2", "--json")
    found = json.loads(done.stdout)
    assert [(each["policy"], each["seed"]) for each in found] == [("fifo", 0), ("fifo", 1), ("lrs", 0), ("lrs", 1)]
    assert [list(each) for each in found] == [KEYS] * 4
    assert all(each["makespan_seconds"] >= each["lower_bound_seconds"] > 0 for each in found)


def test_the_table_compares_all_installed_policies_and_says_what_binds(project: Any) -> None:
    shown = project.dagrl("simulate", "table6:shared-medium:3x2").stdout
    for policy in ("list", "fifo", "lrs", "round-robin", "sequential", "exclusive"):
        assert policy in shown
    assert "no schedule ends before" in shown
    assert "set by" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_specs_are_simulated_and_drawn(project: Any) -> None:
    arguments = (project.job("a"), project.job("b"), "--cluster", project.cluster(), "--policy", "fifo")
    shown = project.dagrl("simulate", *arguments, "--svg", "out.svg").stdout
    assert "durations of a: not known" in shown
    assert (project.directory / "out.svg").read_text().startswith("<svg")


def test_faults_of_a_workload_file_are_told_with_their_keys(project: Any) -> None:
    (project.directory / "w.json").write_text('{"version": 1, "executors": {}, "jobs": {"a": {"iterations": 0}}}')
    told = project.dagrl("simulate", "w.json", expect=2).stderr
    assert "w.json: jobs.a.iterations: expected a whole number of 1 or more, got 0" in told
    assert "w.json: jobs.a: missing key 'steps'" in told


def test_words_that_name_nothing_are_refused(project: Any) -> None:
    assert "did you mean 'pools-warm'?" in project.dagrl("simulate", "table6:pool-warm", expect=2).stderr
    assert "no such file" in project.dagrl("simulate", "nowhere.json", expect=2).stderr
    assert "no policy 'fiffo'" in project.dagrl("simulate", "table6:pools-warm", "--policy", "fiffo", expect=2).stderr


def test_every_documented_word_is_one_that_is_understood() -> None:
    from dagrl.workload.table6 import LAYOUTS, SWITCHES

    page = (Path(__file__).parent.parent.parent / "docs" / "workloads.md").read_text(encoding="utf-8")
    for word in (*LAYOUTS, *SWITCHES, *KEYS):
        assert f"`{word}`" in page
