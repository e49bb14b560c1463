"""The names inside a workload file, and the lengths of its lists: what only the whole file can tell.

Owns what each kind of step needs and must not have. Whether the steps make a DAG and whether contexts fit is
`dagrl.graph`'s to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from dagrl.errors import Fault, did_you_mean
from dagrl.model import StepKind
from dagrl.spec.places import Path, shown
from dagrl.spec.scalars import listed
from dagrl.workload.draws import Listed
from dagrl.workload.schema import JobEntry, StepEntry, WorkloadFile


def check_names(document: WorkloadFile, file: str) -> Iterator[Fault]:
    """All names that lead nowhere, keys that do not go together, and lists of the wrong length."""
    for path, message in _complaints(document):
        yield Fault(file, 0, 0, shown(path), message)


def pool_of(step: StepEntry, job: JobEntry) -> str:
    """The pool that a step runs in: that of the context it runs in, or its own; empty if there is neither."""
    holder = job.contexts.get(context_of(step) or "")
    return holder.pool if holder is not None else step.pool or ""


def context_of(step: StepEntry) -> str | None:
    """The context that a step runs in: a propagate's source, or its own."""
    return step.source if step.kind is StepKind.PROPAGATE else step.context


def _complaints(document: WorkloadFile) -> Iterator[tuple[Path, str]]:
    for section in ("executors", "jobs"):
        if not getattr(document, section):
            yield (section,), f"no {section}: a workload needs at least one"
    sizes: Counter[str] = Counter()
    for executors in document.executors.values():
        sizes[executors.pool] += executors.count or 1
    for name, job in document.jobs.items():
        here: Path = ("jobs", name)
        if not job.steps:
            yield (*here, "steps"), "no steps: a job needs at least one"
        if job.departure_seconds is not None and job.departure_seconds <= job.arrival_seconds:
            yield (*here, "departure_seconds"), "a job leaves after it has arrived"
        for step_name, step in job.steps.items():
            for key, message in (*_names(step, job), *_width(step, job, sizes), *_length(step, job)):
                yield (*here, "steps", step_name, *key), message


def _names(step: StepEntry, job: JobEntry) -> Iterator[tuple[Path, str]]:
    propagates = step.kind is StepKind.PROPAGATE
    for key in ("source", "target"):
        if propagates and not getattr(step, key):
            yield (), f"missing key {key!r}: a propagate names its {key}"
        if not propagates and getattr(step, key):
            yield (key,), f"only a propagate has a {key}"
    if propagates and step.context is not None:
        yield ("context",), "a propagate runs in its source"
    for index, need in enumerate(step.needs):
        yield from _unknown(("needs", index), need.step, job.steps, "step")
    for key, context in (("source", step.source), ("context", step.context), *(("target", t) for t in step.target)):
        if context is not None:
            yield from _unknown((key,), context, job.contexts, "context")


def _width(step: StepEntry, job: JobEntry, sizes: Counter[str]) -> Iterator[tuple[Path, str]]:
    pool = pool_of(step, job)
    holder = job.contexts.get(context_of(step) or "")
    if not pool and context_of(step) is None and step.kind is not StepKind.PROPAGATE:
        yield (), "missing key 'pool': a step without a context names one"
    elif holder is not None and step.pool not in {None, pool}:
        yield ("pool",), f"the step runs where its context is, in pool {pool!r}: leave the key out"
    elif pool in sizes and step.slots > sizes[pool]:
        yield ("slots",), f"occupies {step.slots} executors, but pool {pool!r} has {sizes[pool]}; it could never run"
    for index, other in enumerate(step.also_pools):
        yield from _unknown(("also_pools", index), other, sizes, "pool")
        if other == pool:
            yield ("also_pools", index), f"the step runs in pool {pool!r} itself: say how many it occupies with 'slots'"


def _length(step: StepEntry, job: JobEntry) -> Iterator[tuple[Path, str]]:
    if not isinstance(step.seconds, Listed):
        return
    propagates = step.kind is StepKind.PROPAGATE
    wanted = job.iterations + propagates
    if len(step.seconds.values) != wanted:
        first = ", the first for the publication before iteration 0" if propagates else ""
        yield ("seconds",), f"expected {wanted} numbers, one per iteration{first}, got {len(step.seconds.values)}"


def _unknown(path: Path, name: str, known: Collection[str], word: str) -> Iterator[tuple[Path, str]]:
    if name not in known:
        yield path, f"no {word} {name!r}{did_you_mean(name, known) or f'; there are: {listed(known)}'}"
