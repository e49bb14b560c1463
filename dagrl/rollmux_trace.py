"""Reads RollMux's production trace: 200 jobs that came and went in two weeks, and how long their phases take.

`wild.trace` has a line `job, time, +1/-1, type` for every arrival and departure, `profile.json` the seconds of
generate and train per type, on pools of their own (`disagg`) and on one (`colo`). Nodes have eight GPUs. What the
files do not say is taken from the paper (arXiv 2512.11306): prices, switch, sync and host memory. The largest
slowdown of each job is drawn, as there, uniformly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from dagrl.errors import UsageError
from dagrl.placement.model import Fleet, LoopingJob, NodeKind, Phase, Way
from dagrl.placement.replay import Happening

#: Dollars per hour of a node of eight H800; a node of eight H20 costs a third.
TRAIN_DOLLARS = 8 * 5.28
#: Host memory of a node.
NODE_BYTES = 1750 * 10**9
#: By model size in billions of parameters: bytes of host memory of a job's sampler and trainer (table 2, eight GPUs),
#: and seconds of a cold start of both, side by side, which is what a move costs (figure 4).
MEASURED = {
    3: (113.4e9, 156.2e9, 26.7),
    7: (275.7e9, 240.0e9, 38.8),
    14: (445.4e9, 456.1e9, 60.4),
    32: (490.3e9, 520.4e9, 81.7),
}
#: The two ways that the profile knows.
DISAGGREGATED = "disaggregated"
COLOCATED = "co-located"
#: The size whose jobs take two nodes, where all others take one.
WIDE = "32B"


@dataclass(frozen=True, slots=True)
class Charges:
    """Seconds that sharing costs. The defaults are the largest of any model size in the paper (figures 4 and 12)."""

    sample_switch_seconds: float = 1.7
    train_switch_seconds: float = 5.9
    sync_seconds: float = 3.9


#: Sharing costs nothing: what the paper's own planner and simulator assume.
NO_CHARGES = Charges(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """How the trace becomes jobs."""

    seed: int = 2345
    #: Range of the largest slowdown.
    least_slowdown: float = 1.1
    most_slowdown: float = 2.0
    charges: Charges = Charges()
    #: Whether jobs may sample on the trainer's nodes too.
    ways: tuple[str, ...] = (DISAGGREGATED, COLOCATED)
    #: Trainer nodes of a 32B job: RollMux's simulator charges one where it shares and two where it does not.
    wide_train_nodes: int = 1


def fleet() -> Fleet:
    """Nodes of eight H800 to train and of eight H20 to sample."""
    return Fleet((NodeKind("train", TRAIN_DOLLARS, NODE_BYTES), NodeKind("rollout", TRAIN_DOLLARS / 3, NODE_BYTES)))


def read_trace(folder: Path, options: TraceOptions) -> list[Happening]:
    """All arrivals and departures in order, in seconds since the first. Raises UsageError if a file is missing."""
    try:
        profile = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
        lines = (folder / "wild.trace").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{folder}: not RollMux's trace ({error})") from error
    random = Random(options.seed)
    start: datetime | None = None
    history = []
    for line in filter(None, map(str.strip, lines)):
        name, moment, change, kind = line.split(", ")
        time = datetime.fromisoformat(moment)
        start = start or time
        arrives = int(change) > 0
        slowdown = random.uniform(options.least_slowdown, options.most_slowdown) if arrives else 0.0
        job = make_job(name, kind, slowdown, profile, options) if arrives else None
        history.append(Happening((time - start).total_seconds(), name, job))
    return history


def make_job(
    name: str, kind: str, max_slowdown: float, profile: Mapping[str, Any], options: TraceOptions
) -> LoopingJob:
    """A job of a type such as `8B_32k`."""
    size = kind.partition("_")[0]
    sampler_bytes, trainer_bytes, move_seconds = _of_size(int(size.removesuffix("B")))
    charges = options.charges
    width, train_width = (2, options.wide_train_nodes) if size == WIDE else (1, 1)
    own, shared = profile["disagg"][kind], profile["colo"][kind]
    train_switch, sample_switch = charges.train_switch_seconds, charges.sample_switch_seconds
    ways = (
        Way(
            DISAGGREGATED,
            (
                Phase("rollout", own["generate"], width, sample_switch, int(sampler_bytes)),
                Phase("train", own["train"], train_width, train_switch, int(trainer_bytes)),
            ),
            charges.sync_seconds,
        ),
        Way(
            COLOCATED,
            (
                Phase("train", shared["generate"], width, train_switch, int(sampler_bytes)),
                Phase("train", shared["train"], width, train_switch, int(trainer_bytes)),
            ),
            charges.sync_seconds,
        ),
    )
    chosen = tuple(way for way in ways if way.name in options.ways)
    return LoopingJob(name, chosen, max_slowdown, move_seconds=move_seconds)


def _of_size(billions: int) -> tuple[float, float, float]:
    """What the paper measured; sizes that it lacks lie on the line between their neighbours."""
    lower = max(size for size in MEASURED if size <= billions)
    upper = min(size for size in MEASURED if size >= billions)
    part = (billions - lower) / (upper - lower) if upper > lower else 0.0
    sampler, trainer, move = (
        low + part * (high - low) for low, high in zip(MEASURED[lower], MEASURED[upper], strict=True)
    )
    return sampler, trainer, move
