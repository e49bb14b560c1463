"""`dagrl demo`: three real jobs interleaved, the same three one after the other, and the two compared.

The comparison is the point: the makespan must shrink and the digests must not change. A digest that differs ends the
process with an error.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from dagrl.cli.load import load
from dagrl.cli.run import exit_code, run_live, shown
from dagrl.cli.show import digests_of, print_timeline, read_timeline
from dagrl.errors import ExitCode, MachineError
from dagrl.estimates import Estimates
from dagrl.run_directory import RUNS
from dagrl.runner import RunPlan, RunResult
from dagrl_tui.picture import write_svg


def demo_specs() -> Path:
    """The directory of the demo's specs: inside the installed package, or in the checkout."""
    package = Path(__file__).parent.parent
    for directory in (package / "specs" / "demo", package.parent / "specs" / "demo"):
        if directory.is_dir():
            return directory
    raise MachineError("the demo's specs are missing from this installation; install dagrl again")


def run_demo(run_dir: Path | None) -> ExitCode:
    """Run the demo and return the process's exit code."""
    specs = demo_specs()
    cluster = specs / "cluster.yaml"
    files = sorted(path for path in specs.glob("*.yaml") if path != cluster)
    jobs, machine = load(files, cluster)
    directory = run_dir or RUNS / f"demo-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    plan = RunPlan(jobs, machine, "list", directory / "interleaved", [*files, cluster])
    print(f"1. Interleaved: {', '.join(job.name for job in jobs)} share {len(machine.executors)} executors.")
    interleaved = run_live(plan, Estimates())
    if not interleaved.ok:
        return _give_up(interleaved)
    print("2. The same jobs one after the other, to compare.")
    one_by_one = replace(plan, policy="sequential", run_directory=directory / "sequential")
    sequential = run_live(one_by_one, Estimates())
    if not sequential.ok:
        return _give_up(sequential)
    return _compare(interleaved, sequential)


def _give_up(result: RunResult) -> ExitCode:
    for name, (status, reason) in result.jobs.items():
        print(f"{name}: {status} {reason}")
    print(f"logs: {shown(result.directory / 'logs')}")
    return exit_code(result)


def _compare(interleaved: RunResult, sequential: RunResult) -> ExitCode:
    timeline, comparison = read_timeline(interleaved.directory)
    alone, _ = read_timeline(sequential.directory)
    comparison = replace(comparison, sequential_seconds=alone.makespan_seconds, sequential_is_measured=True)
    print_timeline(timeline, comparison)
    picture = interleaved.directory.parent / "timeline.svg"
    write_svg(timeline, picture, comparison)
    gain = comparison.verdict(timeline.makespan_seconds)
    print(
        f"\nOne after the other {alone.makespan_seconds:.1f} s, interleaved {timeline.makespan_seconds:.1f} s: {gain}."
    )
    if timeline.makespan_seconds > alone.makespan_seconds:
        print("Nothing was gained: the executors shared cores that something else was using as well.")
    ours, theirs = digests_of(interleaved.directory), digests_of(sequential.directory)
    changed = [job for job, found in ours.items() if found["digest"] != theirs[job]["digest"]]
    for job, found in ours.items():
        verdict = "DIFFERENT from" if job in changed else "same bits as"
        print(f"{job}: {found['digest'][:16]}  {verdict} in the sequential run")
    print(f"\nLook again: dagrl timeline {shown(interleaved.directory)}   picture: {shown(picture)}")
    return ExitCode.JOB_FAILED if changed else ExitCode.DONE
