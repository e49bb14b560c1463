from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest


def processes_in(directory: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environment = process.info["environ"] or {}
        if environment.get("STARTED") == str(directory / "started"):
            found.append(" ".join(process.info["cmdline"] or []))
    return found


def test_a_run_is_stored_and_can_be_looked_at(project: Any) -> None:
    project.dagrl("run", project.job("a"), project.job("b"), "--run-dir", "out", "--cluster", project.cluster())
    assert {path.name for path in (project.directory / "out").iterdir()} >= {"journal.db", "run.json", "specs", "logs"}
    shown = project.dagrl("timeline", "out").stdout
    assert "rollout" in shown
    assert "duty" in shown
    document = json.loads(project.dagrl("timeline", "out", "--json").stdout)
    assert [job["iterations_done"] for job in document["jobs"]] == [3, 3]
    lines = project.dagrl("digest", "out").stdout.split()
    assert "a/actor" in lines
    assert len(lines[0]) == 64


def test_a_task_is_explained(project: Any) -> None:
    project.dagrl("run", project.job("a"), "--run-dir", "out", "--cluster", project.cluster())
    told = project.dagrl("explain", "out", "a/1/train").stdout
    assert "a/1/train became ready at" in told
    assert "its context is at home on train" in told
    assert "attempt 1 was given to train" in told
    assert "no task a/9/train" in project.dagrl("explain", "out", "a/9/train", expect=2).stderr
    assert "'nonsense' is no task" in project.dagrl("explain", "out", "nonsense", expect=2).stderr


def test_the_newest_run_is_meant_when_none_is_named(project: Any) -> None:
    run = project.run(project.job("a"))
    assert json.loads(project.dagrl("digest", "--json").stdout) == run["digests"]


def test_a_run_directory_is_never_reused(project: Any) -> None:
    spec = project.job("a")
    project.run(spec, options=("--run-dir", "out"))
    refused = project.dagrl("run", spec, "--run-dir", "out", expect=2)
    assert "out is not empty" in refused.stderr


def test_a_plan_runs_nothing_and_learns_from_the_last_run(project: Any) -> None:
    spec = project.job("a", train="slow_train")
    before = json.loads(project.dagrl("plan", spec, "--cluster", project.cluster(), "--json").stdout)
    assert before["durations_from"] == {"a": "unknown"}
    assert not (project.directory / "runs").exists()
    project.run(spec)
    after = json.loads(project.dagrl("plan", spec, "--cluster", project.cluster(), "--json").stdout)
    assert after["durations_from"]["a"].startswith("runs/")
    assert 0.1 < after["makespan_seconds"] < 60
    assert "durations of a" in project.dagrl("plan", spec).stdout


def test_validate_tells_all_faults_and_starts_nothing(project: Any) -> None:
    (project.directory / "bad.yaml").write_text("version: 1\njob: bad\niterations: -1\nstepps: {}\n")
    told = project.dagrl("validate", "bad.yaml", expect=2).stderr.splitlines()
    assert any(line.startswith("bad.yaml:3:13: iterations:") for line in told)
    assert any("unknown key 'stepps' (did you mean 'steps'?)" in line for line in told)
    assert project.dagrl("run", "bad.yaml", expect=2).stderr.splitlines() == told
    assert not (project.directory / "runs").exists()


def test_an_error_is_json_where_json_is_wanted(project: Any) -> None:
    refused = project.dagrl("digest", "nowhere", "--json", expect=2)
    assert "no run at 'nowhere'" in json.loads(refused.stdout)["error"]


def test_a_written_spec_is_valid(project: Any) -> None:
    project.dagrl("init", "mine.yaml")
    assert "mine.yaml" in project.dagrl("init", "mine.yaml", expect=2).stderr
    assert "ok" in project.dagrl("validate", "mine.yaml").stdout


@pytest.mark.parametrize("wrong", [["--policy", "lifo"], ["--nonsense"], ["missing.yaml"]])
def test_bad_usage_is_exit_code_2(project: Any, wrong: list[str]) -> None:
    project.dagrl("run", project.job("a"), *wrong, expect=2)
    assert not (project.directory / "runs").exists()


def until(condition: Any) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


@pytest.mark.parametrize("step", ["wait_for_cancel", "stubborn"])
def test_an_interrupted_run_ends_with_130_and_leaves_nothing_behind(project: Any, step: str) -> None:
    with project.start(
        "run", project.job("a", train=step), "--run-dir", "out", "--cluster", project.cluster()
    ) as running:
        until((project.directory / "started").exists)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
    assert running.returncode == 130, out + err
    assert "Traceback" not in err
    assert processes_in(project.directory) == []
    assert "a: cancelled" in out
    document = json.loads(project.dagrl("timeline", "out", "--json").stdout)
    assert document["jobs"][0]["status"] == "cancelled"


def test_killing_the_engine_orphans_nothing(project: Any) -> None:
    with project.start("run", project.job("a", train="stubborn"), "--cluster", project.cluster()) as running:
        until((project.directory / "started").exists)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate(timeout=20)
    until(lambda: not processes_in(project.directory))


def test_output_that_nobody_reads_is_no_error(project: Any) -> None:
    project.run(project.job("a"))
    with project.start("timeline", "--json") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_python_jobs_run_from_a_script(project: Any) -> None:
    (project.directory / "script.py").write_text(
        "import dagrl\n"
        "job = dagrl.Job('mine', iterations=4, seed=1)\n"
        "@job.context(pool='train')\n"
        "def counter(build):\n    return {'total': 0}\n"
        "@job.step(kind='train', context=counter)\n"
        "def add(ctx):\n"
        "    ctx.contexts['counter']['total'] += ctx.rng.randrange(10)\n"
        "    ctx.metrics.log(total=ctx.contexts['counter']['total'])\n"
        "if __name__ == '__main__':\n"
        "    result = dagrl.run(job, run_dir='out')\n"
        "    print(result.ok, result.jobs['mine'])\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=project.directory, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("True")
    assert "mine" in project.dagrl("digest", "out").stdout


def test_a_script_without_a_main_guard_is_told_so_and_starts_no_chain_of_runs(project: Any) -> None:
    (project.directory / "script.py").write_text(
        "import dagrl\n"
        "job = dagrl.Job('mine', iterations=1)\n"
        "@job.step(kind='task', pool='cpu')\n"
        "def work(ctx):\n    pass\n"
        "print(dagrl.run(job, run_dir='out').jobs['mine'])\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=project.directory, capture_output=True, text=True, timeout=60, check=False
    )
    assert "put it under `if __name__ == '__main__':`" in done.stdout


def test_runs_that_begin_at_once_each_get_a_directory_and_one_run_dir_serves_one_run(project: Any) -> None:
    spec, cluster = project.job("a"), project.cluster()
    started = [project.start("run", spec, "--cluster", cluster, "--json") for _ in range(3)]
    found = [json.loads(process.communicate(timeout=100)[0]) for process in started]
    assert len({run["run"] for run in found}) == 3
    assert len({run["digests"]["a"]["digest"] for run in found}) == 1
    rivals = [project.start("run", spec, "--cluster", cluster, "--run-dir", "out") for _ in range(3)]
    for rival in rivals:
        rival.communicate(timeout=100)
    assert sorted(rival.returncode for rival in rivals) == [0, 2, 2]
