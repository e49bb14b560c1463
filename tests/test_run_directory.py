from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagrl.errors import MachineError, UsageError
from dagrl.run_directory import create_run_directory, find_run, record_inputs


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def finished_run(path: Path) -> Path:
    run = create_run_directory(path)
    (run / "journal.db").touch()
    return run


def test_every_run_has_a_directory_of_its_own() -> None:
    first, second = create_run_directory(None), create_run_directory(None)
    assert first != second
    assert first.parent.name == "runs"
    assert first.stat().st_mode & 0o777 == 0o700


def test_a_directory_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert create_run_directory(tmp_path / "mine").is_dir()
    with pytest.raises(UsageError, match="is not empty"):
        create_run_directory(tmp_path / "mine")


def test_a_directory_that_cannot_be_made_is_the_machines_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="cannot make the run directory"):
        create_run_directory(tmp_path / "file" / "run")


def test_a_run_is_found_by_path_by_name_and_as_the_newest() -> None:
    with pytest.raises(UsageError, match="there is no run"):
        find_run(None)
    finished_run(Path("runs/one"))
    two = finished_run(Path("runs/two"))
    os.utime(two / "journal.db")
    assert find_run("one") == Path("runs/one")
    assert find_run(str(two)) == two
    assert find_run(None) == find_run("last") == Path("runs/two")
    with pytest.raises(UsageError, match=r"no run at 'three'"):
        find_run("three")


def test_specs_of_one_name_are_both_kept(tmp_path: Path) -> None:
    run = create_run_directory(None)
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job.yaml").write_text(folder)
    record_inputs(run, [tmp_path / "x/job.yaml", tmp_path / "y/job.yaml"], {"policy": "list"})
    assert sorted(path.read_text() for path in (run / "specs").iterdir()) == ["x", "y"]
    assert '"policy": "list"' in (run / "run.json").read_text()
