"""Carries out one operation after the other in a worker process: tasks, and moves of contexts.

Owns the contexts of all jobs in the process and the order of things around a task: its inputs are read and its code is
imported first, generators are set last, and noted down right after it. Answers are plain data; who asked, and what is
done about a failure, is not known here.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagrl.executor import RunClock
from dagrl.model import INIT_PREFIX, START, ContextId, TaskId
from dagrl.step import StepCancelledError
from dagrl_local.ambient import Ambience, Snapshot
from dagrl_local.artifacts import read_artifact, write_artifact
from dagrl_local.blocks import SharedBlock
from dagrl_local.callables import load_callable
from dagrl_local.contexts import ContextUnusableError, HeldContext
from dagrl_local.facts import JobFacts
from dagrl_local.logs import log_path, one_line, output_to, user_traceback
from dagrl_local.seeds import build_seed, task_seed
from dagrl_local.state import lay_out, read_tree
from dagrl_local.state.image import image_in
from dagrl_local.steps import Building, Running
from dagrl_local.wire import Message


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an operation. Blocks in `lent` go along with it; those in `given` are the other side's then."""

    body: dict[str, Any]
    lent: tuple[SharedBlock, ...] = ()
    given: tuple[SharedBlock, ...] = ()


class Operations:
    """The operations of one worker."""

    def __init__(self, run_directory: Path, device: str, clock: RunClock, is_cancelled: Callable[[str], bool]) -> None:
        self._run_directory = run_directory
        self._device = device
        self._clock = clock
        self._is_cancelled = is_cancelled
        self._jobs: dict[str, JobFacts] = {}
        self._contexts: dict[ContextId, HeldContext] = {}
        self._ambience = Ambience()
        self._home = Path.cwd()
        self._process = os.getpid()

    def learn(self, facts: JobFacts) -> None:
        """Take note of a job."""
        self._jobs[facts.name] = facts

    def carry_out(self, message: Message) -> Answer:
        """Do what a message asks; a failure is an answer too."""
        started = self._clock.now()
        try:
            # Wherever another job's step has gone.
            os.chdir(self._home)
            answer = self._do(message)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises ends its task, not the worker
            answer = Answer({"error": one_line(error), "traceback": user_traceback(error)})
        return Answer({**answer.body, "started": started, "finished": self._clock.now()}, answer.lent, answer.given)

    def _do(self, message: Message) -> Answer:
        body = message.body
        if body["op"] == "run":
            task = TaskId(body["job"], body["iteration"], body["step"])
            with output_to(log_path(self._run_directory, task.job, task.iteration, task.step)):
                try:
                    return self._run(task, body)
                except BaseException as error:
                    # Not through sys.stderr, which the step may have closed or replaced.
                    os.write(2, user_traceback(error).encode("utf-8", "backslashreplace"))
                    raise
        context = ContextId(body["job"], body["context"])
        match body["op"]:
            case "save":
                return _saved(self._entered(context).save(self._new_block))
            case "evict":
                others = (each for name, each in self._contexts.items() if name != context)
                in_use = {address for each in others for address in each.addresses()}
                return _saved(self._entered(context).evict(self._new_block, in_use))
            case "restore":
                return self._restore(context, message)
            case "load":
                return self._load(context, message)
            case "checkpoint":
                return self._checkpoint(context, body["iteration"])
            case "drop":
                return self._drop(context)
            case other:
                raise ValueError(f"unknown operation {other!r}")

    def _run(self, task: TaskId, body: Mapping[str, Any]) -> Answer:
        if self._is_cancelled(body["attempt_id"]):
            raise StepCancelledError(f"{task} was cancelled before it began")
        step = self._jobs[task.job].steps[task.step]
        context = ContextId(task.job, step.context) if step.context is not None else None
        if context is not None and task.step == INIT_PREFIX + context.name:
            self._contexts[context] = self._built(context)
            return Answer(_residency(self._contexts[context]))
        held = self._held(context) if context is not None else None
        if step.run is not None:
            return self._run_step(task, step.run, held, body)
        if held is None:
            raise ValueError(f"{task} has no function and no source to publish")
        self._ambience.enter(held.ambient, self._jobs[task.job].threads)
        return self._propagate(held, task.iteration + 1)

    def _run_step(self, task: TaskId, reference: str, held: HeldContext | None, body: Mapping[str, Any]) -> Answer:
        job = self._jobs[task.job]
        function = load_callable(reference, task.job)
        running = Running(
            job=task.job,
            step=task.step,
            iteration=task.iteration,
            params=json.loads(job.params),
            device=self._device,
            contexts={held.name: held.state} if held is not None else {},
            inputs={name: read_artifact(self._run_directory / path) for name, path in body["inputs"].items()},
            seed=task_seed(job.seed, task.iteration, task.step),
            version=held.version if held is not None else None,
            is_cancelled=lambda: self._is_cancelled(body["attempt_id"]),
        )
        if held is not None:
            held.begin_task()
        # Last of all: nothing but the step itself may draw from them.
        self._ambience.enter(held.ambient if held is not None else Snapshot(running.seed), job.threads)
        result = self._call(function, running)
        if held is not None:
            held.ambient = self._ambience.leave()
        return Answer({**self._stored(task, result, running), **_residency(held)})

    def _call(self, function: Callable[[Any], Any], argument: object) -> Any:
        try:
            return function(argument)
        finally:
            if os.getpid() != self._process:
                # A fork of the step's that came back: it must not answer in this process's name.
                os._exit(0)

    def _stored(self, task: TaskId, result: object, running: Running) -> dict[str, Any]:
        place = "start" if task.iteration == START else str(task.iteration)
        stored = write_artifact(result, self._run_directory / "artifacts" / task.job / place / task.step)
        artifact = None
        if stored is not None:
            artifact = [stored.relative_to(self._run_directory).as_posix(), stored.stat().st_size]
        return {"artifact": artifact, "metrics": list(running.metrics.values.items())}

    def _built(self, context: ContextId) -> HeldContext:
        job, facts = self._jobs[context.job], self._jobs[context.job].contexts[context.name]
        ambient = Snapshot(build_seed(job.seed))
        state = self._build(context, ambient)
        return HeldContext(context.name, state, self._ambience.leave(), self._device, discards=facts.discards)

    def _build(self, context: ContextId, ambient: Snapshot) -> Any:
        job = self._jobs[context.job]
        function = load_callable(job.contexts[context.name].build, context.job)
        building = Building(context.job, context.name, json.loads(job.params), ambient.seed, self._device)
        self._ambience.enter(ambient, job.threads)
        state = self._call(function, building)
        if state is None:
            raise TypeError(f"the build function of context {context.name!r} returned nothing; it returns the state")
        return state

    def _propagate(self, source: HeldContext, version: int) -> Answer:
        block = image_in(lay_out(source.weights(), {}), self._new_block)
        source.version = version
        return Answer({"artifact": None, "metrics": [], **_residency(source)}, given=(block,))

    def _restore(self, context: ContextId, message: Message) -> Answer:
        if not message.fds:
            return Answer({"bytes": self._held(context).reclaim()})
        block = SharedBlock(message.fds[0])
        try:
            held = self._rebuilt(context, block)
        except BaseException:
            block.close()
            raise
        if message.body["version"] is not None:
            held.version = message.body["version"]
        return Answer({"bytes": held.resident_bytes})

    def _rebuilt(self, context: ContextId, block: SharedBlock) -> HeldContext:
        if context in self._contexts:
            self._contexts.pop(context).close()
        job = self._jobs[context.job]
        with output_to(log_path(self._run_directory, context.job, START, INIT_PREFIX + context.name)):
            built = self._build(context, Snapshot(build_seed(job.seed)))
        discards = job.contexts[context.name].discards
        held = HeldContext.rebuilt(context.name, built, block, self._device, discards=discards)
        self._contexts[context] = held
        return held

    def _load(self, context: ContextId, message: Message) -> Answer:
        block = SharedBlock(message.fds[0])
        try:
            return Answer({"bytes": self._entered(context).take_weights(read_tree(block), message.body["version"])})
        finally:
            block.close()

    def _checkpoint(self, context: ContextId, iteration: int) -> Answer:
        path = Path("checkpoints", context.job, str(iteration), context.name)
        written = self._entered(context).checkpoint(self._run_directory / path)
        return Answer({"path": path.as_posix(), "digest": written.digest, "bytes": written.bytes})

    def _drop(self, context: ContextId) -> Answer:
        held = self._contexts.pop(context, None)
        if held is not None:
            held.close()
            # Modules and environments refer to themselves; their memory must not wait for a later collection.
            gc.collect()
        return Answer({})

    def _entered(self, context: ContextId) -> HeldContext:
        """The context, with its own modes and generators set: saving and loading may run the user's code."""
        held = self._held(context)
        self._ambience.enter(held.ambient, self._jobs[context.job].threads)
        return held

    def _held(self, context: ContextId | None) -> HeldContext:
        if context is None or context not in self._contexts:
            raise ContextUnusableError(f"context {str(context)!r} is not in this process")
        return self._contexts[context]

    def _new_block(self, size: int) -> SharedBlock:
        return SharedBlock.create(size, self._run_directory / "swap")


def _residency(held: HeldContext | None) -> dict[str, Any]:
    return {"resident_bytes": held.resident_bytes if held is not None else None}


def _saved(saved: Any) -> Answer:
    lent = (saved.new_block,) if saved.new_block is not None else ()
    return Answer({"bytes": saved.bytes}, lent=lent)
