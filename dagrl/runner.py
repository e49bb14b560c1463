"""From jobs to a finished run: directory, journal, scheduler, engine and signals put together.

The command line and `dagrl.run` both end here. `run_jobs` blocks until every job has ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dagrl.cluster import refuse_missing_devices, this_machine
from dagrl.engine import Engine
from dagrl.errors import Fault, MachineError, SpecError, UsageError
from dagrl.estimates import Estimates
from dagrl.events import Record
from dagrl.executor import WORKER_VARIABLE, RunClock, find_backend
from dagrl.graph import check
from dagrl.journal import Journal
from dagrl.model import Cluster, Job, JobStatus
from dagrl.planner import refine
from dagrl.plugins import load_plugin
from dagrl.policy import Policy
from dagrl.run_directory import create_run_directory, journal_path, record_inputs
from dagrl.scheduler import Scheduler
from dagrl.simulate import Workload
from dagrl.spec import load_cluster
from dagrl.spec.places import shown


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run: where it is stored, and status and reason per job."""

    directory: Path
    jobs: Mapping[str, tuple[JobStatus, str]]
    interrupted: bool

    @property
    def ok(self) -> bool:
        """Whether every job is done."""
        return all(status is JobStatus.DONE for status, _ in self.jobs.values())


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All that a run needs to know before it starts."""

    jobs: Sequence[Job]
    cluster: Cluster
    policy: str = "list"
    run_directory: Path | None = None
    #: Files to keep a copy of.
    specs: Sequence[Path] = ()


def find_policy(name: str) -> Policy:
    """The installed policy of that name. Raises UsageError naming those there are."""
    policy: Policy = load_plugin("dagrl.policies", name, "policy")()
    return policy


def run_jobs(
    plan: RunPlan, on_record: Callable[[Record], None] = lambda _: None, known: Estimates | None = None
) -> RunResult:
    """Run jobs to their end and return what came of them.

    Raises UserError before anything starts if the input cannot work, MachineError if the machine cannot.
    """
    policy = find_policy(plan.policy)
    if known is not None and all(known.knows(job) for job in plan.jobs):
        policy = refine(policy, Workload(plan.jobs, plan.cluster, known))
    scheduler = Scheduler(plan.cluster, policy, known)
    refuse_missing_devices(plan.cluster)
    for kind in {spec.kind for spec in plan.cluster.executors}:
        find_backend(kind)
    directory = create_run_directory(plan.run_directory)
    facts: dict[str, Any] = {"policy": plan.policy, "cluster": asdict(plan.cluster), "started_unix": time.time()}
    facts["policy_in_use"] = repr(policy)
    facts["threads"] = {job.name: job.threads for job in plan.jobs}
    facts["seeds"] = {job.name: job.seed for job in plan.jobs}
    facts["processors"] = os.cpu_count()
    try:
        # First: of two runs that were given one directory, only one gets past this.
        journal = Journal.create(journal_path(directory), facts)
        record_inputs(directory, [*plan.specs, *_step_files(plan.jobs)], facts)
    except (OSError, sqlite3.OperationalError) as error:
        raise MachineError(f"cannot write into {directory}: {error}") from error
    try:
        engine = Engine(scheduler, journal, directory, RunClock(time.monotonic()), on_record)
        interrupted = asyncio.run(_until_done(engine, plan))
        return RunResult(directory, journal.jobs(), interrupted)
    finally:
        journal.close()


def _step_files(jobs: Sequence[Job]) -> list[Path]:
    """The files that the jobs' own functions stand in."""
    references = [step.run or "" for job in jobs for step in job.steps]
    references += [context.build for job in jobs for context in job.contexts]
    return [Path(path) for path in sorted({each.rpartition(":")[0] for each in references if each.startswith("/")})]


async def _until_done(engine: Engine, plan: RunPlan) -> bool:
    loop, signals = asyncio.get_running_loop(), []

    def interrupt(number: int) -> None:
        signals.append(number)
        engine.stop(f"interrupted by {signal.Signals(number).name}")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt, number)
    await engine.run(plan.jobs, plan.cluster)
    return bool(signals)


def run(
    *jobs: Any,
    cluster: Cluster | Path | str | None = None,
    policy: str = "list",
    run_dir: Path | str | None = None,
) -> RunResult:
    """Run jobs made in Python, interleaved; returns when all have ended.

    `jobs` are `dagrl.Job`s or frozen ones, `cluster` a cluster file or a Cluster (this machine if left out), `run_dir`
    a new directory (`runs/<time>` if left out). Raises UserError before anything starts if something cannot work.
    """
    if os.environ.get(WORKER_VARIABLE) == str(os.getpid()):
        raise UsageError(
            "dagrl.run was reached while a worker imports this script; put it under `if __name__ == '__main__':`"
        )
    built = [job if isinstance(job, Job) else job.build() for job in jobs]
    if isinstance(cluster, str | Path):
        cluster = load_cluster(Path(cluster))
    machine = cluster or this_machine(built)
    refuse_unfit(built, machine)
    return run_jobs(RunPlan(built, machine, policy, Path(run_dir) if run_dir is not None else None))


def refuse_unfit(jobs: Sequence[Job], cluster: Cluster) -> None:
    """Raise SpecError if a job cannot run on a cluster, or two jobs have one name."""
    faults = [
        Fault(f"job {job.name!r}", 0, 0, shown(fault.path), fault.message)
        for job in jobs
        for fault in check(job, cluster)
    ]
    names = [job.name for job in jobs]
    faults += [
        Fault(f"job {name!r}", 0, 0, "", "another job of this run has the same name")
        for name in {name for name in names if names.count(name) > 1}
    ]
    if faults:
        raise SpecError(faults)
