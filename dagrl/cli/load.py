"""Spec and cluster files to jobs and a cluster, the same way for every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dagrl.cluster import this_machine
from dagrl.model import Cluster, Job
from dagrl.spec import load_jobs, load_workload


def load(specs: Sequence[Path], cluster: Path | None) -> tuple[tuple[Job, ...], Cluster]:
    """The jobs and the cluster they run on, this machine if no file is named. Raises SpecError with all faults."""
    if cluster is not None:
        return load_workload(specs, cluster)
    jobs = load_jobs(specs)
    return jobs, this_machine(jobs)
