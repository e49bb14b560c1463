"""The plain data every other module speaks: jobs, steps, contexts, tasks, executors.

Owns the words of the project (frozen dataclasses, standard library only) and nothing else: no rule, no I/O. A value
of this module is complete and resolved: pools are filled in, callables are full references, durations are seconds
and sizes are bytes. `spec` and `builder` make them, `graph.check` judges them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

#: A string, number, boolean, None, or a list or mapping of these.
JsonValue: TypeAlias = Any

#: The iteration of everything that happens before iteration 0: building contexts, publishing first weights.
START = -1

#: Prefix of the step name of a context's build task: `init.actor`. A declared step cannot hold a dot.
INIT_PREFIX = "init."


class StepKind(StrEnum):
    """What a step does; `init` is the build of a context, which dagrl adds by itself."""

    SAMPLE = "sample"
    REWARD = "reward"
    TRAIN = "train"
    PROPAGATE = "propagate"
    TASK = "task"
    INIT = "init"


class OnEvict(StrEnum):
    """What eviction does with a context's weights: keep a host copy, or drop what a propagate provides again."""

    OFFLOAD = "offload"
    DISCARD = "discard"


class Eviction(StrEnum):
    """When a context leaves its device: once another needs the room, or after each of its tasks."""

    LAZY = "lazy"
    EAGER = "eager"


class JobStatus(StrEnum):
    """How a job stands; all but `running` are final."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """The unit that is scheduled; prints as `gcd/3/train`, and as `gcd/start/init.actor` before iteration 0."""

    job: str
    iteration: int
    step: str

    def __str__(self) -> str:
        iteration = "start" if self.iteration == START else str(self.iteration)
        return f"{self.job}/{iteration}/{self.step}"

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Read what `str` printed. Raises ValueError on anything else."""
        job, iteration, step = text.split("/")
        return cls(job, START if iteration == "start" else int(iteration), step)


@dataclass(frozen=True, slots=True, order=True)
class ContextId:
    """One context of one job; prints as `gcd/actor`."""

    job: str
    name: str

    def __str__(self) -> str:
        return f"{self.job}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> ContextId:
        """Read what `str` printed. Raises ValueError on anything else."""
        job, name = text.split("/")
        return cls(job, name)


@dataclass(frozen=True, slots=True)
class Context:
    """Accelerator state of one job role, built once by `build` in a worker and switched in place afterwards."""

    name: str
    #: `package.module:function`, or `/absolute/steps.py:function`.
    build: str
    pool: str
    on_evict: OnEvict = OnEvict.OFFLOAD
    #: Device bytes it needs at most; None when only running it will tell.
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """An input of a step: the artifact of `step`, `offset` iterations away (0 this one, -1 the one before)."""

    step: str
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.step}@{self.offset}" if self.offset else self.step


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a job's DAG. `pool` is always filled in: the context's, the source's, or its own."""

    name: str
    kind: StepKind
    pool: str
    #: The callable; None for a propagate, which dagrl carries out itself.
    run: str | None = None
    #: The context it runs in; a propagate runs in its source.
    context: str | None = None
    needs: tuple[Need, ...] = ()
    #: A propagate's receiving contexts; empty for every other kind.
    targets: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    #: A guess for planning, used until a duration has been seen.
    expected_seconds: float | None = None
    #: Executors of its pool that it occupies at once, all or none.
    slots: int = 1
    #: Pools of which it occupies one executor each besides, all or none.
    also_pools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One RL run: its DAG, its contexts and how it wants to be treated."""

    name: str
    iterations: int
    steps: tuple[Step, ...]
    contexts: tuple[Context, ...] = ()
    max_staleness: int = 0
    seed: int = 0
    #: Higher first.
    priority: int = 0
    #: Fair share.
    weight: float = 1.0
    #: Compute threads of every task of this job; results are only equal at equal thread counts.
    threads: int = 1
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    #: A durable checkpoint after every so many iterations; None: at the end only.
    checkpoint_every: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutorSpec:
    """One executor: runs one task at a time on its device and holds contexts."""

    name: str
    pool: str
    device: str = "cpu"
    #: Which plug-in carries it out: an entry point of `dagrl.executors`.
    kind: str = "local"
    #: Budget for resident contexts; None: no limit.
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """All executors that jobs may use."""

    executors: tuple[ExecutorSpec, ...]
    eviction: Eviction = Eviction.LAZY

    def pool(self, name: str) -> tuple[ExecutorSpec, ...]:
        """The executors of one pool, in declared order; empty if there is no such pool."""
        return tuple(executor for executor in self.executors if executor.pool == name)


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """Where a task's result is stored: a path relative to the run directory, and its size."""

    path: str
    bytes: int
