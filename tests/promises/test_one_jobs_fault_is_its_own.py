from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def log(run: dict[str, Any], job: str, task: str) -> str:
    return Path(run["run"], "logs", job, f"{task}.log").read_text()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("fail", "ValueError: no such luck"),
        ("no_artifact", "model"),
        ("leave", "exited with code 3"),
        ("hang", "timeout of 1 s"),
        ("fail_unspeakably", "ValueError: x"),
    ],
)
@pytest.mark.parametrize("step", ["train", "reward"])
def test_a_step_that_goes_wrong_fails_its_job_and_changes_no_bit_of_another(
    project: Any, fault: str, reason: str, step: str
) -> None:
    good = project.job("good", 12, train="slow_train")
    alone = project.run(good)["digests"]["good"]
    bad = project.job("bad", 12, timeout=1.0 if fault == "hang" else None, **{step: fault})
    run = project.run(good, bad, expect=1)
    assert run["jobs"]["good"]["status"] == "done"
    assert run["digests"]["good"] == alone
    assert run["jobs"]["bad"]["status"] == "failed"
    assert reason in run["jobs"]["bad"]["reason"]


def test_the_steps_own_traceback_is_in_its_log(project: Any) -> None:
    run = project.run(project.job("bad", train="fail"), expect=1)
    text = log(run, "bad", "0.train")
    assert "about to fail" in text
    assert 'raise ValueError("no such luck")' in text
    assert "dagrl_local" not in text


def test_a_fork_that_comes_back_is_no_second_worker(project: Any) -> None:
    run = project.run(project.job("good", 8), project.job("forks", 4, train="fork"))
    assert {name: each["status"] for name, each in run["jobs"].items()} == {"good": "done", "forks": "done"}


def test_jobs_that_share_a_file_do_not_share_what_it_holds(project: Any) -> None:
    specs = [project.job(name, 5, train="count") for name in ("a", "b")]
    alone = {name: project.run(spec)["digests"][name] for name, spec in zip("ab", specs, strict=True)}
    assert project.run(*specs)["digests"] == alone


def test_what_cannot_be_written_as_text_does_not_spoil_the_journal(project: Any) -> None:
    spec = project.job("bad", train="fail_unspeakably")
    project.run(spec, expect=1, options=("--run-dir", "out"))
    assert "ValueError" in project.dagrl("timeline", "out").stdout
    run = project.run(spec, expect=1)
    assert "raise ValueError" in log(run, "bad", "0.train")
