"""The cluster of this machine, for runs without a cluster file.

Looks at what the machine has without importing torch, and gives every pool that the jobs name one executor: on CUDA
devices as long as there are some, which pools share if they must, else on the CPU. Pools named `cpu` stay on the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

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
