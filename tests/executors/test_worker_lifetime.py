"""How workers begin and end: nothing is orphaned, no descriptor is kept, whoever ends first."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dagrl.errors import ExecutorError
from dagrl.events import ExecutorLost, TaskFailed, TaskFinished
from dagrl.model import ExecutorSpec
from dagrl_local.process import worker_environment

SUPERVISOR = """
import asyncio, sys, time
from pathlib import Path
from dagrl_local import LocalBackend
from dagrl.events import Run
from dagrl.executor import Order, RunClock
from dagrl.model import ExecutorSpec, Job, Step, StepKind, TaskId

async def main(directory, steps):
    backend = LocalBackend(Path(directory), RunClock(time.monotonic()))
    executor = await backend.start(ExecutorSpec("e0", "cpu"))
    parts = tuple(Step(name, StepKind.TASK, "cpu", f"{steps}:{name}") for name in ("process", "spawn", "hang_in_c"))
    job = Job("a", 1, parts)
    for part in parts:
        await executor.carry_out(Order(Run(TaskId("a", 0, part.name), 1, "e0"), job))

asyncio.run(main(*sys.argv[1:]))
"""


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_outlives_a_supervisor_that_is_killed(tmp_path: Path, until: Any, end: signal.Signals) -> None:
    steps = Path(__file__).with_name("plain_steps.py")
    supervisor = subprocess.Popen(  # noqa: ASYNC220 - it is killed before anybody waits for it
        [sys.executable, "-c", SUPERVISOR, str(tmp_path), str(steps)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    found = [tmp_path / "artifacts" / "a" / "0" / f"{name}.json" for name in ("process", "spawn")]
    await until(lambda: all(path.exists() for path in found))
    worker, child = (int("".join(filter(str.isdigit, path.read_text().split(",")[0]))) for path in found)
    assert runs(worker)
    assert runs(child)
    supervisor.send_signal(end)
    supervisor.wait()
    await until(lambda: not runs(worker) and not runs(child))


async def test_what_a_step_left_running_ends_with_its_worker(local: Any, until: Any) -> None:
    job = local.job("a", local.step("spawn"), local.step("exit_at_once"))
    first = local.read(await local.run(job, "spawn"))["child"]
    await local.run(job, "exit_at_once")
    await until(lambda: not runs(first))
    second = local.read(await local.run(job, "spawn"))["child"]
    await local.executors["e0"].close(kill=False)
    await until(lambda: not runs(second))


async def test_closing_lets_the_running_step_end(local: Any, tmp_path: Path, until: Any) -> None:
    flag = tmp_path / "flag"
    job = local.job("a", local.step("heed", timeout_seconds=0.3), params={"flag": str(flag)})
    running = local.order(job, local.attempt(job, "heed"))
    await until(flag.exists)
    await local.executors["e0"].close(kill=False)
    assert isinstance(running.result(), TaskFailed)


async def test_closing_at_once_ends_a_step_that_heeds_nothing(local: Any) -> None:
    job = local.job("a", local.step("process"), local.step("hang"))
    pid = local.read(await local.run(job, "process"))["pid"]
    running = local.order(job, local.attempt(job, "hang"))
    await asyncio.sleep(0.05)
    await local.executors["e0"].close(kill=True)
    assert isinstance(await running, ExecutorLost)
    assert not runs(pid)
    late = await local.run(job, "process")
    assert isinstance(late, ExecutorLost)
    assert late.culprit is None
    await local.executors["e0"].close(kill=False)


async def test_all_descriptors_are_given_back(tmp_path: Path, local_runs: Any) -> None:
    before = open_files()
    run = local_runs(tmp_path)
    await run.start("e0")
    parts = (
        run.context("trainer", "build_policy"),
        run.context("actor", "build_policy"),
        run.propagate("trainer", "actor"),
        run.step("look", "actor"),
        run.step("exit_at_once"),
    )
    job = run.job("a", *parts)
    for name in ("trainer", "actor"):
        await run.init(job, name)
        await run.save(job, name)
    for iteration in range(-1, 3):
        assert isinstance(await run.run(job, "propagate", iteration), TaskFinished)
    await run.load(job, "actor", 2)
    await run.run(job, "exit_at_once")
    await run.restore(job, "trainer")
    await run.evict(job, "trainer")
    assert open_files() > before
    await run.close()
    assert open_files() == before


async def test_an_executor_that_cannot_start_says_why(
    tmp_path: Path, local_runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = local_runs(tmp_path).backend
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ExecutorError, match=r"executor 'e0' did not start: its process exited with code 1: .*Error"):
        await backend.start(ExecutorSpec("e0", "cpu"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(ExecutorError, match="cannot start a process for executor 'e0'"):
        await backend.start(ExecutorSpec("e0", "cpu"))


def test_a_worker_keeps_what_the_user_has_set_in_the_environment() -> None:
    environment = worker_environment({"OMP_NUM_THREADS": "3", "HOME": "/home/a"})
    assert environment["OMP_NUM_THREADS"] == "3"
    assert environment["HOME"] == "/home/a"
    assert environment["PYTHONHASHSEED"] == "0"
