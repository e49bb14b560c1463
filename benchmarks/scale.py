"""What does scheduling cost? Seconds per task and per decision as workloads grow, and memory.

    python benchmarks/scale.py [--largest] [--policy list] [--json]

First table: GRPO jobs of 25 iterations and 4 steps on a tenth as many executors, simulated to the end. `--largest`
adds 10,000 jobs on 1,000 executors, a million tasks. Second table: the mean time of one `Scheduler.handle` while so
many tasks are ready at one executor. Each row is measured in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from dagrl.estimates import Estimates
from dagrl.events import JobSubmitted, Run, TaskFinished
from dagrl.model import Job, Step, StepKind
from dagrl.runner import find_policy
from dagrl.scheduler import Scheduler
from dagrl.simulate import Workload, play
from dagrl.testing import cluster, grpo

ITERATIONS = 25
#: Jobs and executors of each row.
SIZES = ((100, 10), (300, 30), (1_000, 100), (3_000, 300))
LARGEST = (10_000, 1_000)
READY = (1_000, 10_000, 100_000)
#: Decisions that are timed at each number of ready tasks.
DECISIONS = 1_000


def simulated(policy: str, jobs: int, executors: int) -> dict[str, float]:
    """One workload played to its end."""
    machine = cluster(f"{executors * 2 // 5} rollout {executors * 2 // 5} train {executors // 5} cpu")
    drawn = [grpo(f"job{number}", ITERATIONS, (1 + number % 3, 0.1, 1 + number % 2)) for number in range(jobs)]
    begun = time.perf_counter()
    tasks = decisions = 0
    for record in play(Workload(drawn, machine, Estimates()), find_policy(policy)):
        tasks += isinstance(record.event, TaskFinished)
        decisions += len(record.decisions)
    seconds = time.perf_counter() - begun
    return {
        "jobs": jobs,
        "executors": executors,
        "tasks": tasks,
        "seconds": seconds,
        "task_us": 1e6 * seconds / tasks,
        "decision_us": 1e6 * seconds / decisions,
        "peak_mib": _peak_mib(),
    }


def crowded(policy: str, ready: int) -> dict[str, float]:
    """Decisions on one executor at which `ready` tasks wait."""
    scheduler = Scheduler(cluster("1 cpu"), find_policy(policy))
    begun = time.perf_counter()
    for number in range(ready):
        step = Step("work", StepKind.TASK, "cpu", "none:none", expected_seconds=1.0 + number % 97)
        scheduler.handle(JobSubmitted(0.0, Job(f"job{number}", 2, (step,), weight=1.0 + number % 2)))
    submitting = time.perf_counter() - begun
    first = next(iter(scheduler.jobs.values()))
    (task, running), now = next(iter(first.running.items())), 0.0
    run = Run(task, running.attempt, running.executor)
    begun = time.perf_counter()
    for _ in range(DECISIONS):
        now += 1.0
        finished = TaskFinished(now, run.task, run.attempt, run.executor, now - 1.0, now)
        run = next(each for each in scheduler.handle(finished) if isinstance(each, Run))
    seconds = time.perf_counter() - begun
    return {
        "ready": ready,
        "decision_us": 1e6 * seconds / DECISIONS,
        "submission_us": 1e6 * submitting / ready,
        "peak_mib": _peak_mib(),
    }


def _peak_mib() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 2**20


def alone(measure: Callable[..., dict[str, float]], *arguments: Any) -> dict[str, float]:
    """Measure in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, arguments)


def main() -> None:
    """Measure and print the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", action="store_true")
    parser.add_argument("--policy", default="list")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, float]] = []
    sizes = (*SIZES, LARGEST) if options.largest else SIZES
    for number, (measure, arguments) in enumerate(
        [(simulated, size) for size in sizes] + [(crowded, (ready,)) for ready in READY]
    ):
        row = alone(measure, options.policy, *arguments)
        if not options.json:
            if number in {0, len(sizes)}:
                print(*(f"{key:>13}" for key in row))
            print(*(f"{value:13,.1f}" for value in row.values()), flush=True)
        rows.append(row)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
