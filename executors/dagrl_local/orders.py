"""From orders to messages, and from a worker's answers to events: the same facts in the words of each side."""

from __future__ import annotations

from typing import Any

from dagrl.events import (
    Cancel,
    Checkpoint,
    ContextCheckpointed,
    ContextDropped,
    ContextEvicted,
    ContextFaulted,
    ContextRestored,
    ContextSaved,
    Drop,
    Event,
    Evict,
    Load,
    Operation,
    Restore,
    Run,
    Save,
    TaskFailed,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.executor import Order
from dagrl.model import ArtifactRef


def attempt_id(attempt: Run | Cancel) -> str:
    """What an attempt is called on the wire."""
    return f"{attempt.task}#{attempt.attempt}"


def message_of(order: Order) -> dict[str, Any]:
    """What a worker is told of an order."""
    match order.decision:
        case Run(task=task) as run:
            inputs = {name: artifact.path for name, artifact in order.inputs.items()}
            place = {"job": task.job, "iteration": task.iteration, "step": task.step}
            return {"op": "run", **place, "attempt_id": attempt_id(run), "inputs": inputs}
        case Cancel() as cancel:
            return {"op": "cancel", "attempt_id": attempt_id(cancel)}
        case operation:
            message = {"op": word_for(operation), "job": operation.context.job, "context": operation.context.name}
    match operation:
        case Load(version=version):
            return {**message, "version": version}
        case Checkpoint(iteration=iteration):
            return {**message, "iteration": iteration}
        case _:
            return message


def word_for(operation: Operation) -> str:
    """`run`, `save`, `evict`, ..."""
    return type(operation).__name__.lower()


def event_of(operation: Operation, answer: dict[str, Any], at: float) -> Event | None:
    """What an answer means to the scheduler."""
    if "error" in answer:
        return _failure(operation, answer, at)
    name, started, finished = operation.executor, answer["started"], answer["finished"]
    match operation:
        case Run(task=task, attempt=attempt):
            artifact = ArtifactRef(*answer["artifact"]) if answer.get("artifact") else None
            metrics = tuple((key, value) for key, value in answer.get("metrics", ()))
            resident = answer["resident_bytes"]
            return TaskFinished(at, task, attempt, name, started, finished, artifact, metrics, resident)
        case Save(context=context):
            return ContextSaved(at, context, name, started, finished, answer["bytes"])
        case Evict(context=context):
            return ContextEvicted(at, context, name, started, finished, answer["bytes"])
        case Restore(context=context):
            return ContextRestored(at, context, name, started, finished, answer["bytes"])
        case Load(context=context, version=version):
            return WeightsLoaded(at, context, name, version, started, finished, answer["bytes"])
        case Checkpoint(context=context, iteration=iteration):
            written = answer["path"], answer["digest"], answer["bytes"]
            return ContextCheckpointed(at, context, name, iteration, started, finished, *written)
        case Drop(context=context):
            return ContextDropped(at, context, name)
        case Cancel():
            return None


def _failure(operation: Operation, answer: dict[str, Any], at: float) -> Event | None:
    name, error, traceback = operation.executor, answer["error"], answer["traceback"]
    match operation:
        case Run(task=task, attempt=attempt):
            return TaskFailed(at, task, attempt, name, answer["started"], answer["finished"], error, traceback)
        case Cancel():
            return None
        case Drop(context=context):
            return ContextDropped(at, context, name)
        case _:
            return ContextFaulted(at, operation.context, name, word_for(operation), error, traceback)
