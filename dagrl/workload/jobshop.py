"""Classic job-shop instances: each job a chain of operations, each on a machine of its own.

A job of the shop is a job of one iteration, an operation is a step without a context, and a machine is a pool of one
executor. There is no switching and no chance in it. The form is that of the ScheduleOpt collection.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TypeGuard

from dagrl.errors import Fault, SpecError
from dagrl.estimates import Estimates
from dagrl.model import Cluster, ExecutorSpec, Job, JsonValue, Need, Step, StepKind
from dagrl.simulate import Workload
from dagrl.workload.scenario import NO_CALLABLE, Scenario, Source

_KEYS = ("job", "operation", "machine", "duration")


def is_jobshop(data: JsonValue) -> bool:
    """Whether this is such an instance."""
    return isinstance(data, dict) and {"machines", "jobs", "data"} <= data.keys()


def jobshop(data: JsonValue, file: str) -> Source:
    """The one scenario of an instance. Raises SpecError when an operation is not made of four whole numbers."""
    rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for index, row in enumerate(data["data"]):
        if not _is_operation(row):
            message = f"expected whole numbers of 0 or more under {', '.join(_KEYS)}"
            raise SpecError([Fault(file, 0, 0, f"data[{index}]", message)])
        rows[row["job"]].append((row["operation"], row["machine"], row["duration"]))
    machines = sorted({machine for operations in rows.values() for _, machine, _ in operations})
    cluster = Cluster(tuple(ExecutorSpec(f"m{machine}", f"m{machine}") for machine in machines))
    jobs = [Job(f"j{number}", 1, _chain(sorted(rows[number]))) for number in sorted(rows)]
    scenario = Scenario(Workload(jobs, cluster, Estimates()))
    return Source(str(data.get("instance", file)), lambda _seed: scenario)


def _is_operation(row: JsonValue) -> TypeGuard[dict[str, int]]:
    return isinstance(row, dict) and all(type(row.get(key)) is int and row[key] >= 0 for key in _KEYS)


def _chain(operations: list[tuple[int, int, int]]) -> tuple[Step, ...]:
    return tuple(
        Step(
            f"o{number}",
            StepKind.TASK,
            f"m{machine}",
            NO_CALLABLE,
            needs=(Need(f"o{operations[index - 1][0]}"),) if index else (),
            expected_seconds=float(seconds),
        )
        for index, (number, machine, seconds) in enumerate(operations)
    )
