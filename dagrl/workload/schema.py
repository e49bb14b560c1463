"""The shape of a workload file: one pydantic model for each mapping in it.

Owns which keys there are, of which type, with which default. Types and words are those of a spec, and so are the keys
that mean the same: `docs/workloads.md` explains them. Names that must exist are looked at in `references`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator

from dagrl.model import Eviction, OnEvict
from dagrl.spec import fields
from dagrl.spec.fields import expected, mapping_of
from dagrl.spec.schema import Section
from dagrl.workload.draws import Duration, Fixed, Listed, Lognormal, Uniform

_DURATION = "seconds: a number, a list of numbers, {mean, cv}, {lognormal: {median, sigma}} or {uniform: [low, high]}"


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= fields.MAX_COUNT:
        return float(value)
    return None


def _numbers(*values: object) -> list[float]:
    found = [_number(value) for value in values]
    return [value for value in found if value is not None] if None not in found else []


def _duration(value: Any) -> Duration:
    match value:
        case list() if numbers := _numbers(*value):
            return Listed(tuple(numbers))
        case {"mean": mean, "cv": cv, **rest} if not rest and (numbers := _numbers(mean, cv)):
            return Lognormal.of(*numbers)
        case {"lognormal": {"median": median, "sigma": sigma, **inner}, **rest} if (
            not inner and not rest and (numbers := _numbers(median, sigma))
        ):
            return Lognormal(*numbers)
        case {"uniform": [low, high], **rest} if not rest and (numbers := _numbers(low, high)):
            return Uniform(*sorted(numbers))
        case _ if (number := _number(value)) is not None:
            return Fixed(number)
        case _:
            raise expected(_DURATION, value)


def _pools(value: Any) -> Any:
    if not isinstance(value, list):
        raise expected("a list of pools", value)
    return tuple(value)


_Duration = Annotated[Duration, PlainValidator(_duration)]


class ContextEntry(Section):
    """One entry of a job's `contexts`."""

    pool: fields.Name
    memory: fields.Size | None = None
    on_evict: fields.Evict = OnEvict.OFFLOAD
    init_seconds: fields.ExpectedSeconds = 0.0
    save_seconds: fields.ExpectedSeconds = 0.0
    restore_seconds: fields.ExpectedSeconds = 0.0
    load_seconds: fields.ExpectedSeconds = 0.0


class StepEntry(Section):
    """One entry of a job's `steps`."""

    kind: fields.Kind
    seconds: _Duration
    context: fields.Name | None = None
    needs: fields.Needs = ()
    pool: fields.Name | None = None
    source: fields.Name | None = None
    target: fields.Targets = ()
    slots: fields.Positive = 1
    also_pools: Annotated[tuple[fields.Name, ...], BeforeValidator(_pools)] = ()


class JobEntry(Section):
    """One entry of `jobs`."""

    iterations: fields.Positive
    arrival_seconds: fields.ExpectedSeconds = 0.0
    departure_seconds: fields.ExpectedSeconds | None = None
    priority: fields.Whole = 0
    weight: fields.Weight = 1.0
    max_staleness: fields.NotNegative = 0
    contexts: Annotated[dict[fields.Name, ContextEntry], mapping_of("names to contexts")] = Field(default_factory=dict)
    steps: Annotated[dict[fields.Name, StepEntry], mapping_of("names to steps")]


class ExecutorsEntry(Section):
    """One entry of `executors`; it stands for `count` executors, numbered from 0."""

    pool: fields.Name
    memory: fields.Size | None = None
    count: fields.Positive | None = None
    dollars_per_hour: fields.ExpectedSeconds | None = None


class WorkloadFile(Section):
    """A whole workload file."""

    version: fields.Version
    eviction: fields.Evictions = Eviction.LAZY
    polling_seconds: fields.ExpectedSeconds = 0.0
    executors: Annotated[dict[fields.Name, ExecutorsEntry], mapping_of("names to executors")]
    jobs: Annotated[dict[fields.JobName, JobEntry], mapping_of("names to jobs")]
