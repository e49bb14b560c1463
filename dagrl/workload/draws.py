"""Durations that vary, and the chance in them: one number per seed and task, whatever the policy.

Owns the distributions of a workload. A draw is a function of the seed and the task's name alone, so that every policy
meets the same durations, in whichever order it starts the tasks. No generator is kept, and none is global.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist, fmean
from typing import Protocol

from dagrl.model import TaskId

_NORMAL = NormalDist()
_BYTES = 7
_ALL = float(256**_BYTES)


class Duration(Protocol):
    """Seconds of a step, iteration by iteration."""

    @property
    def mean_seconds(self) -> float:
        """What a planner may expect."""
        ...

    def seconds(self, iteration: int, chance: float) -> float:
        """What an iteration takes; `chance` is evenly spread between 0 and 1."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same."""

    mean_seconds: float

    def seconds(self, iteration: int, chance: float) -> float:  # noqa: ARG002 - a Duration
        """The one number."""
        return self.mean_seconds


@dataclass(frozen=True, slots=True)
class Listed:
    """One number per iteration, as recorded; the first one is of iteration `first`."""

    values: Sequence[float]
    first: int = 0

    @property
    def mean_seconds(self) -> float:
        """The mean over the real iterations: what comes before them is no guide to the rest."""
        return fmean(self.values[-self.first :])

    def seconds(self, iteration: int, chance: float) -> float:  # noqa: ARG002 - a Duration
        """The number of that iteration."""
        return self.values[iteration - self.first]


@dataclass(frozen=True, slots=True)
class Lognormal:
    """A lognormal distribution: what rollouts with a long tail look like."""

    median_seconds: float
    sigma: float

    @classmethod
    def of(cls, mean_seconds: float, cv: float) -> Lognormal:
        """The one with this mean and coefficient of variation."""
        variance = math.log1p(cv * cv)
        return cls(mean_seconds * math.exp(-variance / 2), math.sqrt(variance))

    @property
    def mean_seconds(self) -> float:
        """The mean, which lies above the median."""
        return self.median_seconds * math.exp(self.sigma**2 / 2)

    def seconds(self, iteration: int, chance: float) -> float:  # noqa: ARG002 - a Duration
        """The quantile at `chance`."""
        return self.median_seconds * math.exp(self.sigma * _NORMAL.inv_cdf(chance))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Evenly spread between two numbers of seconds."""

    low: float
    high: float

    @property
    def mean_seconds(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2

    def seconds(self, iteration: int, chance: float) -> float:  # noqa: ARG002 - a Duration
        """The quantile at `chance`."""
        return self.low + (self.high - self.low) * chance


@dataclass(frozen=True, slots=True)
class Draw:
    """What a workload's tasks take: a `draw` of `dagrl.simulate.Workload`."""

    seed: int
    #: By job and step; a task that is not there takes what is expected.
    durations: Mapping[tuple[str, str], Duration]

    def __call__(self, task: TaskId, expected_seconds: float) -> float:
        """Seconds of one task."""
        duration = self.durations.get((task.job, task.step))
        if duration is None:
            return expected_seconds
        if isinstance(duration, Fixed):
            return duration.mean_seconds
        return duration.seconds(task.iteration, chance(self.seed, str(task)))


def chance(seed: int, name: str) -> float:
    """A number between 0 and 1, both excluded, that looks random and depends on these two alone."""
    digest = blake2b(f"{seed} {name}".encode(), digest_size=_BYTES).digest()
    return (int.from_bytes(digest) + 0.5) / _ALL
