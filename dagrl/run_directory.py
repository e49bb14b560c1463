"""The directory of one run: where its journal, artifacts, checkpoints, logs and specs lie.

Owns names and modes: directories 0700, files 0600, nothing outside the run's own directory.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dagrl.errors import MachineError, UsageError

#: Where runs go unless told otherwise, relative to the working directory.
RUNS = Path("runs")

_PACKAGES = ("dagrl", "torch", "numpy", "transformers", "stable-baselines3", "gymnasium", "safetensors")


def create_run_directory(path: Path | None) -> Path:
    """A new run directory, `runs/<time>` if no path is given.

    Raises UsageError if the path holds something already, MachineError if it cannot be made.
    """
    if path is not None:
        if path.is_dir() and any(path.iterdir()):
            raise UsageError(f"{path} is not empty; every run needs a directory of its own")
        return _make(path)
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    number = 1
    while not _claim(fresh := RUNS / (stamp if number == 1 else f"{stamp}-{number}")):
        number += 1
    return _make(fresh)


def _claim(path: Path) -> bool:
    """Make a directory that is not there yet; whoever makes it owns it, when two runs begin in the same second."""
    try:
        path.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise MachineError(f"cannot make the run directory {path}: {error.strerror}") from error
    return True


def _make(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        for name in ("artifacts", "checkpoints", "logs", "specs"):
            (path / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise MachineError(f"cannot make the run directory {path}: {error.strerror}") from error
    return path.resolve()


def find_run(name: str | None) -> Path:
    """The run directory that a person means: a path, a name under `runs/`, or the newest for None or `last`.

    Raises UsageError naming what there is.
    """
    if name is not None and name != "last":
        for path in (Path(name), RUNS / name):
            if journal_path(path).is_file():
                return path
        raise UsageError(f"no run at {name!r}: neither {name}/journal.db nor {RUNS / name}/journal.db exists")
    runs = newest_runs()
    if not runs:
        raise UsageError(f"there is no run under {RUNS}/ yet; `dagrl run SPEC` makes one")
    return runs[0]


def newest_runs() -> list[Path]:
    """All run directories under `runs/`, the newest first."""
    found = [path.parent for path in RUNS.glob("*/journal.db")]
    return sorted(found, key=lambda path: (journal_path(path).stat().st_ctime_ns, path.name), reverse=True)


def journal_path(run: Path) -> Path:
    """Where the journal of a run lies."""
    return run / "journal.db"


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def record_inputs(run: Path, specs: Iterable[Path], facts: Mapping[str, Any]) -> None:
    """Keep copies of the specs, and what else the run was started with, in `run.json`."""
    taken: set[str] = set()
    for spec in specs:
        if not spec.is_file():
            # A pipe was read to its end already.
            continue
        name = spec.name if spec.name not in taken else f"{len(taken)}-{spec.name}"
        taken.add(name)
        shutil.copyfile(spec, run / "specs" / name)
        (run / "specs" / name).chmod(0o600)
    text = json.dumps({"command": sys.argv, "versions": versions(), **facts}, indent=2)
    (run / "run.json").touch(mode=0o600)
    (run / "run.json").write_text(text + "\n", encoding="utf-8")
