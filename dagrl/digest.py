"""One SHA-256 for what a job came to: the state of all its contexts and every number it logged.

Two runs of a job gave the same result exactly when their digests are equal. Digests compare runs of one machine:
other processors compute other last bits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from dagrl.journal import Journal


@dataclass(frozen=True, slots=True)
class JobDigest:
    """SHA-256 in hexadecimal over a whole job, and over each of its contexts as of the newest checkpoint."""

    job: str
    contexts: Mapping[str, str]


def job_digest(journal: Journal, job: str) -> JobDigest:
    """The digest of one job of a run; a context's covers weights, optimizer, random generators and all else saved."""
    contexts = {name: row["digest"] for name, row in journal.checkpoints(job).items()}
    metrics = [(task.iteration, task.step, name, value.hex()) for task, name, value in journal.metrics(job)]
    text = json.dumps([sorted(contexts.items()), metrics])
    return JobDigest(hashlib.sha256(text.encode()).hexdigest(), contexts)
