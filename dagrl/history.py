"""What earlier runs teach about jobs: durations and sizes from the newest journal that holds each job.

Reads journals and changes nothing. A job counts as the same when its steps, contexts, parameters and threads are;
how long it ran and how urgent it was do not matter.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dagrl.errors import UsageError
from dagrl.estimates import Estimates, observe
from dagrl.journal import Journal
from dagrl.model import Job, Step
from dagrl.run_directory import journal_path


def learn(jobs: Sequence[Job], runs: Iterable[Path]) -> tuple[Estimates, dict[str, Path]]:
    """Estimates for the jobs, and per job the run they come from; `runs` are looked at in order.

    A run that cannot be read teaches nothing.
    """
    known, sources = Estimates(), {}
    for run in runs:
        wanted = [job for job in jobs if job.name not in sources]
        if not wanted:
            break
        try:
            seen, found = _lessons(run, wanted)
        except (UsageError, ValueError, sqlite3.DatabaseError):
            continue
        for job in found:
            if seen.knows(job):
                known.take(job.name, seen)
                sources[job.name] = run
    return known, sources


def _lessons(run: Path, wanted: Sequence[Job]) -> tuple[Estimates, list[Job]]:
    """What a run taught, and about which of the wanted jobs."""
    journal = Journal.read(journal_path(run))
    try:
        held = {job.name: job for job in journal.submitted_jobs()}
        found = [job for job in wanted if job.name in held and _same_work(job, held[job.name])]
        return (observe(list(journal.records())) if found else Estimates()), found
    finally:
        journal.close()


def _same_work(one: Job, other: Job) -> bool:
    return _work(one) == _work(other)


def _work(job: Job) -> Job:
    steps = tuple(_step_work(step) for step in job.steps)
    neutral = replace(job, iterations=1, priority=0, weight=1.0, seed=0, checkpoint_every=None, steps=steps)
    return replace(neutral, params=dict(job.params))


def _step_work(step: Step) -> Step:
    return replace(step, expected_seconds=None, timeout_seconds=None)
