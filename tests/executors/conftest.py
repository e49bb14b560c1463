"""A real local executor under a test's control: orders go in one by one, events come back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dagrl.events import (
    Checkpoint,
    ContextCheckpointed,
    Drop,
    Event,
    Evict,
    Load,
    Operation,
    Restore,
    Run,
    Save,
    TaskFinished,
)
from dagrl.executor import Executor, Order, RunClock
from dagrl.model import INIT_PREFIX, START, ArtifactRef, Context, ContextId, ExecutorSpec, Job, Step, StepKind, TaskId
from dagrl_local import LocalBackend
from dagrl_local.artifacts import read_artifact

HERE = Path(__file__).parent


class Local:
    """Executors of one run, and how a test speaks to them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = RunClock(time.monotonic())
        self.backend = LocalBackend(directory, self.clock)
        self.executors: dict[str, Executor] = {}
        self.artifacts: dict[TaskId, ArtifactRef] = {}
        self._attempts = 0

    @staticmethod
    def job(name: str, *parts: Context | Step, **settings: Any) -> Job:
        steps = tuple(part for part in parts if isinstance(part, Step))
        contexts = tuple(part for part in parts if isinstance(part, Context))
        return Job(name, 10, steps, contexts, **settings)

    @staticmethod
    def step(name: str, context: str | None = None, *, file: str = "plain_steps", **settings: Any) -> Step:
        return Step(name, StepKind.TASK, "cpu", f"{HERE / file}.py:{name}", context, **settings)

    @staticmethod
    def context(name: str, build: str = "build", *, file: str = "plain_steps", **settings: Any) -> Context:
        return Context(name, f"{HERE / file}.py:{build}", "cpu", **settings)

    @staticmethod
    def propagate(source: str, *targets: str) -> Step:
        return Step("propagate", StepKind.PROPAGATE, "cpu", None, source, targets=targets)

    async def start(self, name: str = "e0") -> None:
        self.executors[name] = await self.backend.start(ExecutorSpec(name, "cpu"))

    async def close(self) -> None:
        for executor in self.executors.values():
            await executor.close(kill=False)
        await self.backend.close()

    def order(self, of: Job, operation: Operation) -> asyncio.Task[Event | None]:
        """Hand an order over; the task ends with its event."""
        inputs: Mapping[str, ArtifactRef] = {}
        if isinstance(operation, Run) and operation.task.iteration != START:
            declared = next(each for each in of.steps if each.name == operation.task.step)
            sources = {
                str(need): TaskId(of.name, operation.task.iteration + need.offset, need.step) for need in declared.needs
            }
            inputs = {name: self.artifacts[task] for name, task in sources.items() if task in self.artifacts}
        work = self.executors[operation.executor].carry_out(Order(operation, of, inputs))
        return asyncio.get_running_loop().create_task(work)

    async def do(self, of: Job, operation: Operation) -> Any:
        """Carry one order out."""
        event = await self.order(of, operation)
        if isinstance(event, TaskFinished) and event.artifact is not None:
            self.artifacts[event.task] = event.artifact
        return event

    def attempt(self, of: Job, name: str, iteration: int = 0, executor: str = "e0") -> Run:
        self._attempts += 1
        return Run(TaskId(of.name, iteration, name), self._attempts, executor)

    async def run(self, of: Job, name: str, iteration: int = 0, executor: str = "e0") -> Any:
        return await self.do(of, self.attempt(of, name, iteration, executor))

    async def init(self, of: Job, name: str, executor: str = "e0") -> Any:
        return await self.run(of, INIT_PREFIX + name, START, executor)

    async def save(self, of: Job, name: str, executor: str = "e0") -> Any:
        return await self.do(of, Save(ContextId(of.name, name), executor))

    async def evict(self, of: Job, name: str, executor: str = "e0") -> Any:
        return await self.do(of, Evict(ContextId(of.name, name), executor))

    async def restore(self, of: Job, name: str, executor: str = "e0") -> Any:
        return await self.do(of, Restore(ContextId(of.name, name), executor))

    async def load(self, of: Job, name: str, version: int, executor: str = "e0") -> Any:
        return await self.do(of, Load(ContextId(of.name, name), executor, "propagate", version))

    async def drop(self, of: Job, name: str, executor: str = "e0") -> Any:
        return await self.do(of, Drop(ContextId(of.name, name), executor))

    async def checkpoint(self, of: Job, name: str, iteration: int = 0, executor: str = "e0") -> Any:
        return await self.do(of, Checkpoint(ContextId(of.name, name), executor, iteration))

    async def digest(self, of: Job, name: str, executor: str = "e0") -> str:
        event = await self.checkpoint(of, name, executor=executor)
        assert isinstance(event, ContextCheckpointed), event
        return event.digest

    def read(self, event: Any) -> Any:
        """The artifact of a finished task, where it is JSON."""
        assert isinstance(event, TaskFinished), event
        assert event.artifact is not None
        return json.loads((self.directory / event.artifact.path).read_text())

    def artifact(self, event: Any) -> Any:
        """The artifact of a finished task, with its tensors."""
        assert isinstance(event, TaskFinished), event
        assert event.artifact is not None
        return read_artifact(self.directory / event.artifact.path)

    def log(self, of: Job, name: str, iteration: int | str = 0) -> str:
        return (self.directory / "logs" / of.name / f"{iteration}.{name}.log").read_text()


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Local]:
    """One executor, `e0`, in a run directory of its own."""
    run = Local(tmp_path)
    await run.start()
    yield run
    await run.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Local]:
    """Two executors, `e0` and `e1`, for all tests of a module: a worker loads torch for seconds."""
    run = Local(tmp_path_factory.mktemp("run"))
    await run.start("e0")
    await run.start("e1")
    yield run
    await run.close()


@pytest.fixture
def until() -> Callable[..., Any]:
    """Wait until something is so; for what other processes do."""

    async def wait(condition: Callable[[], bool], seconds: float = 10) -> None:
        for _ in range(int(seconds * 200)):
            if condition():
                return
            await asyncio.sleep(0.005)
        raise AssertionError("it never came to be")

    return wait


@pytest.fixture
def local_runs() -> type[Local]:
    """For tests that start and close a run by themselves."""
    return Local
