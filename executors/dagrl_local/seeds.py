"""Seeds of a job's parts, derived from its own seed by a hash that is the same everywhere and always."""

from __future__ import annotations

import hashlib

#: numpy's global generator takes no more.
_BITS = 32


def build_seed(job_seed: int) -> int:
    """The seed under which every context of a job is built."""
    return _derive(job_seed, "build")


def task_seed(job_seed: int, iteration: int, step: str) -> int:
    """The seed of one task."""
    return _derive(job_seed, f"task:{iteration}:{step}")


def _derive(job_seed: int, purpose: str) -> int:
    hashed = hashlib.sha256(f"dagrl:{job_seed}:{purpose}".encode()).digest()
    return int.from_bytes(hashed[: _BITS // 8], "big")
