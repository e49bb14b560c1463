"""What a worker hands to the user's functions: the contexts of `dagrl.step`, and the metrics they log."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dagrl.model import JsonValue
from dagrl.step import StepCancelledError
from dagrl_local.logs import printable


class LoggedMetrics:
    """The numbers of one task, by name, in the order they came."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def log(self, values: Mapping[str, float] | None = None, /, **more: float) -> None:
        """Record named numbers; a name logged twice keeps its last value.

        Raises TypeError when a value is not a number.
        """
        for name, value in {**(values or {}), **more}.items():
            self.values[printable(str(name))] = _number(name, value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"metric {name!r} is a {type(value).__name__}, not a number")
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"metric {name!r} is not one number: {error}") from error


@dataclass(frozen=True, slots=True)
class Building:
    """What a build function is given; see `dagrl.step.BuildContext`."""

    job: str
    context: str
    params: Mapping[str, JsonValue]
    seed: int
    device: str


@dataclass(frozen=True, slots=True)
class Running:
    """What a step's function is given; see `dagrl.step.StepContext`."""

    job: str
    step: str
    iteration: int
    params: Mapping[str, JsonValue]
    device: str
    contexts: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, Any]]
    seed: int
    version: int | None
    is_cancelled: Callable[[], bool]
    metrics: LoggedMetrics = field(default_factory=LoggedMetrics)
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Seed the task's own generator."""
        object.__setattr__(self, "rng", random.Random(self.seed))

    @property
    def cancelled(self) -> bool:
        """Whether this attempt was asked to stop."""
        return self.is_cancelled()

    def check_cancelled(self) -> None:
        """Raise StepCancelledError if this attempt was asked to stop."""
        if self.is_cancelled():
            raise StepCancelledError(f"{self.job}/{self.iteration}/{self.step} was asked to stop")
