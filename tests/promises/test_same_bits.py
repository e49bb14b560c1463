"""Promise 1: a job's final weights, metrics and random state are the same alone, interleaved and evicted at will."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dagrl.cli.demo import demo_specs
from dagrl.cli.load import load
from dagrl.cli.show import digests_of
from dagrl.model import Cluster, Eviction, Job
from dagrl.runner import RunPlan, run_jobs

ITERATIONS = {"gcd": 6, "spell_backward": 5, "cartpole": 4}


@pytest.fixture(scope="module")
def demo() -> tuple[list[Job], Cluster]:
    cluster = demo_specs() / "cluster.yaml"
    jobs, machine = load(sorted(path for path in demo_specs().glob("*.yaml") if path != cluster), cluster)
    return [replace(job, iterations=ITERATIONS[job.name]) for job in jobs], machine


def digests(directory: Path, jobs: list[Job], cluster: Cluster, policy: str = "list") -> dict[str, Any]:
    result = run_jobs(RunPlan(jobs, cluster, policy, directory))
    assert result.ok, result.jobs
    return digests_of(directory)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demos_jobs_come_to_the_same_bits_however_they_are_scheduled(
    tmp_path: Path, demo: tuple[list[Job], Cluster]
) -> None:
    jobs, cluster = demo
    alone: dict[str, Any] = {}
    for job in jobs:
        alone |= digests(tmp_path / job.name, [job], cluster)
    assert digests(tmp_path / "interleaved", jobs, cluster) == alone
    eager = replace(cluster, eviction=Eviction.EAGER)
    assert digests(tmp_path / "evicted after every task", jobs, eager) == alone
    assert digests(tmp_path / "reversed", jobs[::-1], cluster) == alone
    assert digests(tmp_path / "fifo", jobs, cluster, "fifo") == alone
    roomy = replace(cluster, executors=tuple(replace(e, memory_bytes=None) for e in cluster.executors))
    assert digests(tmp_path / "all resident", jobs, roomy) == alone
    other = digests(tmp_path / "another seed", [replace(jobs[0], seed=jobs[0].seed + 1)], cluster)
    assert other[jobs[0].name] != alone[jobs[0].name]


@pytest.mark.parametrize("eviction", ["lazy", "eager"])
def test_small_jobs_come_to_the_same_bits_interleaved(project: Any, eviction: str) -> None:
    specs = [project.job(name, 6) for name in ("a", "b", "c")]
    alone = {name: project.run(spec)["digests"][name] for name, spec in zip("abc", specs, strict=True)}
    cluster = project.cluster(eviction)
    project.dagrl("run", *specs, "--cluster", cluster, "--run-dir", "out")
    assert digests_of(project.directory / "out") == alone
