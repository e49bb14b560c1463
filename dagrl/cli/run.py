"""`dagrl run`: jobs to their end behind a live display, and what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from dagrl.cli.load import load
from dagrl.cli.show import digests_of
from dagrl.comparison import compare
from dagrl.errors import ExitCode
from dagrl.estimates import Estimates
from dagrl.events import Record
from dagrl.history import learn
from dagrl.model import JobStatus
from dagrl.run_directory import newest_runs
from dagrl.runner import RunPlan, RunResult, run_jobs
from dagrl_tui.live import run_view


def run_and_show(
    specs: Sequence[Path], cluster: Path | None, policy: str, run_dir: Path | None, *, as_json: bool
) -> ExitCode:
    """Run the jobs of spec files; returns the process's exit code."""
    jobs, machine = load(specs, cluster)
    known, _ = learn(jobs, newest_runs())
    files = [*specs, *([cluster] if cluster is not None else [])]
    plan = RunPlan(jobs, machine, policy, run_dir, files)
    result = run_jobs(plan, known=known) if as_json else run_live(plan, known)
    if as_json:
        print(json.dumps(_as_json(result)))
    else:
        tell(result)
    return exit_code(result)


def run_live(plan: RunPlan, known: Estimates) -> RunResult:
    """Run a plan with its progress on stderr."""
    comparison = compare(plan.jobs, plan.cluster, known) if all(known.knows(job) for job in plan.jobs) else None
    with run_view(Console(stderr=True), plan.cluster, comparison) as view:

        def show(record: Record) -> None:
            # Whoever read the display may go away; the run does not depend on being watched.
            with suppress(OSError, SystemExit):
                view.update(record)

        return run_jobs(plan, show, known)


def exit_code(result: RunResult) -> ExitCode:
    """What the process tells the shell about a run."""
    if result.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.DONE if result.ok else ExitCode.JOB_FAILED


def tell(result: RunResult) -> None:
    """Print how each job ended, and where to look next."""
    for name, (status, reason) in result.jobs.items():
        print(f"{name}: {status}{f' ({reason})' if reason else ''}")
    if any(status is JobStatus.FAILED for status, _ in result.jobs.values()):
        print(f"logs: {shown(result.directory / 'logs')}")
    print(f"run: {shown(result.directory)}   look: dagrl timeline {shown(result.directory)}")


def shown(path: Path) -> Path:
    """A path as people type it here: relative if it lies below the working directory."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _as_json(result: RunResult) -> dict[str, object]:
    return {
        "run": str(result.directory),
        "interrupted": result.interrupted,
        "jobs": {name: {"status": status, "reason": reason} for name, (status, reason) in result.jobs.items()},
        "digests": digests_of(result.directory),
    }
