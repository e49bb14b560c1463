"""The names inside a spec: every step, context and pool that is mentioned must be there.

Owns what each kind of step needs and must not have. Whether the steps make a DAG, and whether the machine has the pools
and the room, is `dagrl.graph`'s to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dagrl.errors import Fault, did_you_mean
from dagrl.model import StepKind
from dagrl.spec.places import Path, Places
from dagrl.spec.scalars import listed
from dagrl.spec.schema import JobSpec, StepSpec

_ONLY_PROPAGATE = ("source", "target")
_NEVER_PROPAGATE = ("run", "context")


@dataclass(frozen=True, slots=True)
class Survey:
    """A spec without its faulty parts, and what must be known about those."""

    spec: JobSpec
    places: Places
    #: The parts that are left out.
    removed: Collection[Path]
    #: All that the document declares, faulty entries included; None where that cannot be told.
    steps: Collection[str] | None
    contexts: Collection[str] | None

    def faulty(self, path: Path) -> bool:
        """Whether somebody complained about this value already."""
        return path in self.removed or self.places.was_refused(path)


def pool_of(step: StepSpec, spec: JobSpec) -> str | None:
    """The pool that a step runs in: its context's, its source's, or its own."""
    name = step.source if step.kind is StepKind.PROPAGATE else step.context
    holder = spec.contexts.get(name or "")
    return holder.pool if holder else step.pool


def check_references(survey: Survey) -> Iterator[Fault]:
    """All names that lead nowhere, and keys that do not go together."""
    if survey.steps is not None and not survey.steps:
        yield survey.places.at_key(("steps",), "no steps: a job needs at least one")
    for name, step in survey.spec.steps.items():
        here: Path = ("steps", name)
        yield from _keys(step, here, survey)
        yield from _needs(step, here, survey)
        yield from _contexts(step, here, survey)
        yield from _pool(step, here, survey)


def _keys(step: StepSpec, here: Path, survey: Survey) -> Iterator[Fault]:
    if survey.faulty((*here, "kind")):
        return
    propagate = step.kind is StepKind.PROPAGATE
    for key in _ONLY_PROPAGATE if propagate else ("run",):
        if not getattr(step, key) and not survey.faulty((*here, key)):
            yield survey.places.at_key(here, f"missing key {key!r}: a {step.kind} step needs one")
    for key in _NEVER_PROPAGATE if propagate else _ONLY_PROPAGATE:
        if getattr(step, key):
            reason = "dagrl carries it out in the source" if propagate else "only a propagate step has one"
            yield survey.places.at_key((*here, key), f"a {step.kind} step has no {key!r}: {reason}")


def _needs(step: StepSpec, here: Path, survey: Survey) -> Iterator[Fault]:
    for index, need in enumerate(step.needs):
        path = (*here, "needs", index)
        if need in step.needs[:index]:
            yield survey.places.at_value(path, f"{str(need)!r} stands twice")
        elif survey.steps is not None and need.step not in survey.steps:
            yield survey.places.at_value(path, _nothing("step", need.step, survey.steps))


def _contexts(step: StepSpec, here: Path, survey: Survey) -> Iterator[Fault]:
    many = len(step.target) > 1
    mentioned: list[tuple[Path, str | None]] = [(("context",), step.context), (("source",), step.source)]
    mentioned += [(("target", index) if many else ("target",), name) for index, name in enumerate(step.target)]
    for key, name in mentioned:
        if name is not None and survey.contexts is not None and name not in survey.contexts:
            yield survey.places.at_value((*here, *key), _nothing("context", name, survey.contexts))
    for index, name in enumerate(step.target):
        if name in step.target[:index]:
            yield survey.places.at_value((*here, "target", index), f"{name!r} stands twice")


def _pool(step: StepSpec, here: Path, survey: Survey) -> Iterator[Fault]:
    key = "source" if step.kind is StepKind.PROPAGATE else "context"
    name = getattr(step, key)
    holder = survey.spec.contexts.get(name or "")
    if holder and step.pool not in {None, holder.pool}:
        message = f"the {key} {name!r} is in pool {holder.pool!r}, so the step cannot run in {step.pool!r}"
        yield survey.places.at_value((*here, "pool"), message)
    told = any(survey.faulty((*here, part)) for part in ("kind", "pool", key))
    if name is None and step.pool is None and not told and step.kind is not StepKind.PROPAGATE:
        yield survey.places.at_key(here, "no pool: give the step a 'pool', or a 'context' that has one")


def _nothing(what: str, name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, known) or f"; {what}s: {listed(known)}"
    return f"no {what} {name!r}{hint}"
