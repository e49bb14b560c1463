"""The cluster of this machine, for runs without a cluster file.

Looks at what the machine has without importing torch, and gives every pool that the jobs name one executor: on CUDA
devices as long as there are some, which pools share if they must, else on the CPU. Pools named `cpu` stay on the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from dagrl.errors import UsageError
from dagrl.model import Cluster, ExecutorSpec, Job

CPU_POOL = "cpu"


def cuda_devices() -> list[str]:
    """Device strings of the CUDA devices that this process may use, as the driver lists them."""
    driver = Path("/proc/driver/nvidia/gpus")
    present = len(list(driver.iterdir())) if driver.is_dir() else 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        present = min(present, len([index for index in visible.split(",") if index.strip() not in {"", "-1"}]))
    return [f"cuda:{index}" for index in range(present)]


def this_machine(jobs: Sequence[Job]) -> Cluster:
    """One executor per pool that the jobs name."""
    pools = dict.fromkeys(
        [context.pool for job in jobs for context in job.contexts] + [step.pool for job in jobs for step in job.steps]
    )
    devices = cycle(cuda_devices() or ["cpu"])
    return Cluster(tuple(ExecutorSpec(pool, pool, "cpu" if pool == CPU_POOL else next(devices)) for pool in pools))


#: Device types that torch knows and that only torch can tell more about.
_OTHER_TYPES = {"mps", "xpu", "hpu", "xla", "npu"}


def refuse_missing_devices(cluster: Cluster) -> None:
    """Raise UsageError naming every local executor whose device this machine lacks, as far as it can be seen."""
    present = cuda_devices()
    faults = []
    for executor in cluster.executors:
        kind = executor.device.partition(":")[0]
        if executor.kind != "local" or kind == "cpu" or kind in _OTHER_TYPES:
            continue
        if kind != "cuda":
            faults.append(f"executor {executor.name!r}: no device is called {executor.device!r}; cpu, cuda:0, mps, ...")
        elif not present or (":" in executor.device and executor.device not in present):
            has = ", ".join(present) or "no CUDA device"
            faults.append(f"executor {executor.name!r}: this machine has no {executor.device!r}; it has {has}")
    if faults:
        raise UsageError("\n".join(faults))
