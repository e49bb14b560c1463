"""What a device holds: what must leave to make room, and what a switch costs.

The rule is to keep what is needed soon: of the contexts that are in the way, the one whose next task starts last
leaves first (Belady 1966, with the job's DAG in place of a known reference string).
"""

from __future__ import annotations

from collections.abc import Callable

from dagrl.estimates import Estimates
from dagrl.events import ContextEvicted, ContextRestored, ContextSaved
from dagrl.model import TaskId
from dagrl.state import ContextState, ExecutorState, JobState


def never_fits(executor: ExecutorState, context: ContextState) -> bool:
    """Whether a context alone is larger than the executor's budget."""
    budget = executor.spec.memory_bytes
    return budget is not None and context.bytes is not None and context.bytes > budget


def overflows(executor: ExecutorState) -> bool:
    """Whether several contexts together exceed the executor's budget."""
    sizes = [context.bytes or 0 for context in executor.resident]
    return executor.spec.memory_bytes is not None and len(sizes) > 1 and sum(sizes) > executor.spec.memory_bytes


def evictions(
    executor: ExecutorState, incoming: ContextState, next_use: Callable[[ContextState], float]
) -> list[ContextState]:
    """The contexts that must leave so that `incoming` fits beside the rest.

    A context whose size nobody knows yet is taken to need the whole device.
    """
    budget = executor.spec.memory_bytes
    if budget is None:
        return []
    others = [context for context in executor.resident if context is not incoming]
    room = budget - (budget if incoming.bytes is None else incoming.bytes)
    victims = []
    for victim in sorted(others, key=next_use, reverse=True):
        if sum(context.bytes or 0 for context in others if context not in victims) <= room:
            break
        victims.append(victim)
    return victims


def expected_start(job: JobState, task: TaskId, seconds: Callable[[TaskId], float]) -> float:
    """Seconds until a task could start if all before it ran at once: the longest path of what has not committed."""
    known: dict[TaskId, float] = {}

    def start(task: TaskId) -> float:
        if task not in known:
            before = [p for p in job.graph.predecessors(task) if not job.is_committed(p)]
            known[task] = max((start(p) + seconds(p) for p in before), default=0.0)
        return known[task]

    return start(task)


def switch_seconds(executor: ExecutorState, context: ContextState | None, estimates: Estimates) -> float:
    """What must be saved and restored before a task of `context` could start, as far as was seen."""
    incoming = context.id.job if context is not None else None
    saving = sum(
        max(estimates.operation_seconds(ContextSaved, other.id), estimates.operation_seconds(ContextEvicted, other.id))
        for other in executor.unsaved
        if other.id.job != incoming
    )
    if context is None or context.resident or context.home is None:
        return saving
    return saving + estimates.operation_seconds(ContextRestored, context.id)
