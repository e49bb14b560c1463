from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dagrl.estimates import Estimates
from dagrl.history import learn
from dagrl.journal import Journal
from dagrl.model import Job
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.run_directory import journal_path
from dagrl.simulate import simulate
from dagrl.testing import cluster, solo


def a_run(directory: Path, job: Job) -> Path:
    directory.mkdir()
    journal = Journal.create(journal_path(directory), {})
    for record in simulate([job], cluster("1 train"), ListPolicy(), Estimates()):
        journal.append(record)
    journal.close()
    return directory


def lasting(seconds: float, **changes: object) -> Job:
    job = solo("a")
    return replace(job, steps=(replace(job.steps[0], expected_seconds=seconds),), **changes)  # type: ignore[arg-type]


def test_the_newest_run_of_the_same_work_teaches(tmp_path: Path) -> None:
    old, new = a_run(tmp_path / "old", lasting(9.0)), a_run(tmp_path / "new", lasting(3.0))
    known, sources = learn([solo("a", iterations=50)], [new, old])
    assert known.task_seconds("a", solo("a").steps[0]) == 3.0
    assert sources == {"a": new}


def test_a_run_of_other_work_under_the_same_name_teaches_nothing(tmp_path: Path) -> None:
    other = a_run(tmp_path / "other", lasting(9.0, params={"group_size": 8}))
    known, sources = learn([solo("a")], [other])
    assert not sources
    assert not known.tasks


def test_a_run_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "torn").mkdir()
    journal_path(tmp_path / "torn").write_text("torn")
    good = a_run(tmp_path / "good", lasting(3.0))
    assert learn([solo("a")], [tmp_path / "torn", good])[1] == {"a": good}
