"""What the reading commands print: plans, timelines and digests, for people or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dagrl.cli.load import load
from dagrl.comparison import compare
from dagrl.digest import job_digest
from dagrl.errors import UsageError, did_you_mean
from dagrl.estimates import observe
from dagrl.events import Record
from dagrl.explain import explain
from dagrl.history import learn
from dagrl.journal import Journal
from dagrl.model import Cluster, JobStatus, TaskId
from dagrl.planner import refine
from dagrl.run_directory import find_run, journal_path, newest_runs
from dagrl.runner import find_policy
from dagrl.simulate import Workload, play
from dagrl.timeline import Comparison, Timeline, to_json


def show_plan(specs: Sequence[Path], cluster: Path | None, policy: str, *, as_json: bool) -> None:
    """Print the schedule that a run of these specs would have."""
    jobs, machine = load(specs, cluster)
    known, sources = learn(jobs, newest_runs())
    workload = Workload(jobs, machine, known)
    timeline = fold(list(play(workload, refine(find_policy(policy), workload))), machine)
    comparison = compare(jobs, machine, known)
    origins = {
        job.name: str(sources[job.name]) if job.name in sources else "spec" if known.knows(job) else "unknown"
        for job in jobs
    }
    if as_json:
        print(json.dumps({"durations_from": origins, **to_json(timeline, comparison)}))
        return
    known_from = {
        "spec": "expected_seconds of the spec",
        "unknown": "not known, 1 s is taken for each step: do not trust the figures",
    }
    for name, origin in origins.items():
        print(f"durations of {name}: {known_from.get(origin, origin)}")
    print_timeline(timeline, comparison)


def show_run(name: str | None, svg: Path | None, *, as_json: bool) -> None:
    """Print what a run did, and what one job after the other would have taken."""
    directory = find_run(name)
    timeline, comparison = read_timeline(directory)
    if svg is not None:
        from dagrl_tui.picture import write_svg

        write_svg(timeline, svg, comparison)
    if as_json:
        print(json.dumps(to_json(timeline, comparison)))
        return
    print_timeline(timeline, comparison)


def show_digests(name: str | None, *, as_json: bool) -> None:
    """Print the digests of a run."""
    digests = digests_of(find_run(name))
    if as_json:
        print(json.dumps(digests))
        return
    for job, found in digests.items():
        unfinished = "" if found["status"] == JobStatus.DONE else f"  {found['status']}, not comparable"
        print(f"{found['digest']}  {job}{unfinished}")
        for context, value in found["contexts"].items():
            print(f"{value}  {job}/{context}")


def show_explanation(name: str, text: str) -> None:
    """Print why a task ran when and where it did."""
    from dagrl_tui.explained import sentences

    try:
        task = TaskId.parse(text)
    except ValueError:
        raise UsageError(f"{text!r} is no task; write JOB/ITERATION/STEP, as in gcd/3/train") from None
    journal = Journal.read(journal_path(find_run(name)))
    jobs, records = [job.name for job in journal.submitted_jobs()], list(journal.records())
    journal.close()
    found = explain(records, task)
    if found is None:
        hint = did_you_mean(task.job, jobs) if task.job not in jobs else ""
        raise UsageError(f"the run has no task {task}{hint}; its jobs are {', '.join(jobs)}")
    for sentence in sentences(found):
        print(sentence)


def digests_of(directory: Path) -> dict[str, dict[str, Any]]:
    """Per job of a run: how it ended, its digest, and those of its contexts."""
    journal = Journal.read(journal_path(directory))
    found = {
        job: {"status": status.value, "digest": digest.job, "contexts": dict(digest.contexts)}
        for job, (status, _) in journal.jobs().items()
        for digest in [job_digest(journal, job)]
    }
    journal.close()
    return found


def read_timeline(directory: Path) -> tuple[Timeline, Comparison]:
    """A run's timeline, and what its jobs would have taken otherwise with the durations it measured."""
    journal = Journal.read(journal_path(directory))
    machine, jobs, records = journal.cluster(), journal.submitted_jobs(), list(journal.records())
    journal.close()
    return fold(records, machine), compare(jobs, machine, observe(records))


def fold(records: Sequence[Record], machine: Cluster) -> Timeline:
    """The timeline of records, with a lane for every executor of the cluster."""
    return Timeline.of(records, [executor.name for executor in machine.executors])


def print_timeline(timeline: Timeline, comparison: Comparison) -> None:
    """Lanes and tables on stdout."""
    from rich.console import Console

    from dagrl_tui.report import Report

    Console().print(Report(timeline, comparison))
