from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from dagrl.placement.model import Fleet, LoopingJob, NodeKind, Phase, Way

MakeJob: TypeAlias = Callable[..., LoopingJob]


@pytest.fixture
def fleet() -> Fleet:
    return Fleet((NodeKind("train", 3.0, 100), NodeKind("rollout", 1.0, 100)))


@pytest.fixture
def make_job() -> MakeJob:
    return looping


def looping(  # noqa: PLR0913 - one place where tests say what a job is like
    name: str,
    sample: float = 10.0,
    train: float = 10.0,
    max_slowdown: float = 2.0,
    *,
    width: int = 1,
    switch: float = 0.0,
    sync: float = 0.0,
    bytes_kept: int = 10,
    colocated: bool = False,
    staleness: int = 0,
    move: float = 0.0,
) -> LoopingJob:
    ways = [
        Way(
            "own",
            (Phase("rollout", sample, width, switch, bytes_kept), Phase("train", train, 1, switch, bytes_kept)),
            sync,
        )
    ]
    if colocated:
        ways.append(
            Way(
                "co-located",
                (Phase("train", sample, width, switch, bytes_kept), Phase("train", train, width, switch, bytes_kept)),
                sync,
            )
        )
    return LoopingJob(name, tuple(ways), max_slowdown, staleness, move)
