"""The shape of a spec and of a cluster file: one pydantic model for each mapping in them.

Owns which keys there are, of which type, with which default. It knows nothing of names that must exist or of
callables (`references`, `callables`), and pydantic goes no further than this package: `resolve` makes the plain data of
`dagrl.model` from it. One word per thing: a key here is the key in YAML and in the Python builder.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

from dagrl.model import Eviction, OnEvict
from dagrl.spec.fields import (
    CallableName,
    Device,
    Duration,
    Evict,
    Evictions,
    ExpectedSeconds,
    JobName,
    Kind,
    Name,
    Needs,
    NotNegative,
    Params,
    Positive,
    Seed,
    Size,
    Targets,
    Threads,
    Version,
    Weight,
    Whole,
    mapping_of,
)
from dagrl.spec.places import Path


class Section(BaseModel):
    """A mapping in a spec: no keys but the declared ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ContextSpec(Section):
    """One entry of `contexts:`."""

    build: CallableName
    pool: Name
    #: Device bytes it needs at most.
    memory: Size | None = None
    on_evict: Evict = OnEvict.OFFLOAD


class StepSpec(Section):
    """One entry of `steps:`."""

    kind: Kind
    run: CallableName | None = None
    context: Name | None = None
    needs: Needs = ()
    pool: Name | None = None
    #: A propagate's contexts: the one that has the weights, and those that receive them.
    source: Name | None = None
    target: Targets = ()
    #: Seconds after which an attempt counts as hanging.
    timeout: Duration | None = None
    #: A guess for planning, used until a duration has been seen.
    expected_seconds: ExpectedSeconds | None = None


class CheckpointSpec(Section):
    """When to write durable checkpoints besides the one at the end."""

    #: Iterations between two of them.
    every: Positive


class JobSpec(Section):
    """A whole spec file, after its recipe and its matrix were expanded."""

    version: Version
    job: JobName
    iterations: Positive
    max_staleness: NotNegative = 0
    seed: Seed = 0
    priority: Whole = 0
    weight: Weight = 1.0
    threads: Threads = 1
    params: Params = {}
    checkpoint: CheckpointSpec | None = None
    #: Both are expanded before this model sees the spec.
    recipe: None = None
    matrix: None = None
    contexts: Annotated[dict[Name, ContextSpec], mapping_of("names to contexts")] = {}
    steps: Annotated[dict[Name, StepSpec], mapping_of("names to steps")] = {}


class ExecutorsSpec(Section):
    """One entry of a cluster file's `executors:`; it stands for `count` executors, numbered from 0."""

    pool: Name
    device: Device = "cpu"
    #: An entry point of `dagrl.executors`.
    kind: Name = "local"
    #: Bytes for resident contexts, of each of them.
    memory: Size | None = None
    #: None: a single executor that bears the entry's own name.
    count: Threads | None = None


class ClusterSpec(Section):
    """A whole cluster file."""

    version: Version
    eviction: Evictions = Eviction.LAZY
    executors: Annotated[dict[Name, ExecutorsSpec], mapping_of("names to executors")]


#: What stands in for a required value that is faulty, so that all else can still be looked at.
_STAND_INS: dict[type[Section], dict[str, Any]] = {
    JobSpec: {"version": 1, "job": "job", "iterations": 1},
    CheckpointSpec: {"every": 1},
    ContextSpec: {"build": "unknown:unknown", "pool": "unknown"},
    StepSpec: {"kind": "task"},
    ClusterSpec: {"version": 1, "executors": {}},
    ExecutorsSpec: {"pool": "unknown"},
}

_ENTRIES: dict[tuple[type[Section], str], type[Section]] = {
    (JobSpec, "contexts"): ContextSpec,
    (JobSpec, "steps"): StepSpec,
    (ClusterSpec, "executors"): ExecutorsSpec,
}


def section_at(document: type[Section], path: Path) -> type[Section] | None:
    """The model of the mapping at this path of a document; None where any keys are allowed."""
    match path:
        case ():
            return document
        case ("checkpoint",):
            return CheckpointSpec
        case (str(section), _):
            return _ENTRIES.get((document, section))
        case _:
            return None


def stand_in(document: type[Section], path: Path) -> Any:
    """A value to go on with where the one at this path is faulty; None where none is needed."""
    section = section_at(document, path[:-1])
    return _STAND_INS.get(section, {}).get(str(path[-1])) if section else None
