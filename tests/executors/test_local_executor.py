"""Tasks on a real worker process: what they get, what comes of them, and that none of them harms another."""

from __future__ import annotations

import asyncio
import math
import os
from pathlib import Path
from typing import Any

import pytest

from dagrl.events import Cancel, ExecutorLost, TaskFailed, TaskFinished
from dagrl.model import Need, TaskId


async def test_a_task_tells_when_it_ran_what_it_logged_and_where_its_artifact_is(local: Any) -> None:
    job = local.job("a", local.context("c"), local.step("count", "c"))
    begun = await local.init(job, "c")
    assert isinstance(begun, TaskFinished)
    assert (begun.artifact, begun.resident_bytes) == (None, 0)
    done = await local.run(job, "count", 3)
    assert (done.task, done.executor) == (TaskId("a", 3, "count"), "e0")
    assert begun.finished <= done.started <= done.finished <= done.at <= local.clock.now()
    assert done.metrics == (("count", 1.0),)
    assert done.artifact.path == "artifacts/a/3/count.json"
    assert done.artifact.bytes == (local.directory / done.artifact.path).stat().st_size


async def test_a_job_of_plain_python_loads_no_library_into_its_worker(local: Any) -> None:
    job = local.job("a", local.context("c"), local.step("count", "c"), local.step("process"))
    await local.init(job, "c")
    await local.run(job, "count")
    await local.save(job, "c")
    await local.checkpoint(job, "c")
    found = local.read(await local.run(job, "process"))
    assert found["loaded"] == []
    assert found["pid"] != os.getpid()


async def test_a_step_gets_the_artifacts_it_needs_and_params_of_its_own(local: Any) -> None:
    steps = (
        local.step("draw"),
        local.step("pass_on", needs=(Need("draw"), Need("pass_on", -1))),
        local.step("spoil_params"),
    )
    job = local.job("a", *steps, params={"list": [1], "rate": 0.5})
    drawn = local.read(await local.run(job, "draw"))
    found = local.read(await local.run(job, "pass_on"))
    assert found == {"inputs": {"draw": drawn}, "params": {"list": [1], "rate": 0.5}}
    await local.run(job, "draw", 1)
    assert set(local.read(await local.run(job, "pass_on", 1))["inputs"]) == {"draw", "pass_on@-1"}
    for _ in range(2):
        assert local.read(await local.run(job, "spoil_params"))["list"] == [1, 3]


async def test_a_task_without_context_draws_the_same_numbers_whatever_ran_before_it(local: Any) -> None:
    job, other = local.job("a", local.step("draw"), seed=7), local.job("b", local.step("draw"), seed=8)
    first = local.read(await local.run(job, "draw", 4))
    assert local.read(await local.run(other, "draw", 4)) != first
    assert local.read(await local.run(job, "draw", 5)) != first
    assert local.read(await local.run(job, "draw", 4)) == first


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("fail", "ValueError: no luck"),
        ("leave", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt"),
        ("return_list", "NoArtifactError: the step returned a value of type list; a step returns nothing, or a dict"),
        ("return_object", "NoArtifactError: the step's artifact has at ['rows'][0]['what'] a value of type object;"),
        ("log_text", "TypeError: metric 'loss' is a str, not a number"),
        ("no_such_step", "UsageError: "),
    ],
)
async def test_a_step_that_goes_wrong_fails_its_task_and_nothing_else(local: Any, name: str, error: str) -> None:
    job = local.job("a", local.step(name), local.step("process"))
    before = local.read(await local.run(job, "process"))
    failed = await local.run(job, name)
    assert isinstance(failed, TaskFailed)
    assert failed.error.startswith(error)
    assert failed.traceback.splitlines()[-1 if name != "fail" else -2].endswith(failed.error.partition(": ")[2])
    assert failed.traceback in local.log(job, name)
    assert local.read(await local.run(job, "process")) == before


async def test_a_traceback_begins_in_the_users_code(local: Any) -> None:
    job = local.job("a", local.step("fail"))
    failed = await local.run(job, "fail")
    places = [line.split(", in ")[1] for line in failed.traceback.splitlines() if ", in " in line]
    assert places == ["fail", "_fail_inside"]
    assert failed.traceback.endswith("ValueError: no luck\nat all\n")


async def test_what_a_task_prints_goes_to_its_log_and_an_empty_log_is_no_file(local: Any) -> None:
    job = local.job("a", local.context("c"), local.step("shout"), local.step("draw"))
    await local.init(job, "c")
    await local.run(job, "shout")
    await local.run(job, "draw")
    assert local.log(job, "shout") == "to stdout\nto stderr\nfrom a child\n"
    assert local.log(job, "init.c", "start") == "building c\n"
    logs = local.directory / "logs"
    assert sorted(path.name for path in (logs / "a").iterdir()) == ["0.shout.log", "start.init.c.log"]
    assert not (logs / "e0.log").exists() or (logs / "e0.log").read_text() == ""
    assert (logs / "a" / "0.shout.log").stat().st_mode & 0o777 == 0o600


async def test_nobody_else_may_look_into_the_files_of_a_run(local: Any) -> None:
    job = local.job("a", local.context("c"), local.step("count", "c"))
    await local.init(job, "c")
    await local.run(job, "count")
    await local.checkpoint(job, "c")
    for path in local.directory.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("exit_at_once", "the process exited with code 3 during a/0/exit_at_once"),
        ("crash", "the process was ended by SIGSEGV during a/0/crash"),
        ("be_killed", "the process was ended by SIGKILL (if nobody did that, the system was probably out of memory)"),
    ],
)
async def test_a_step_that_ends_its_process_is_named_and_the_next_task_finds_a_new_one(
    local: Any, name: str, cause: str
) -> None:
    job, other = local.job("a", local.step(name)), local.job("b", local.step("process"))
    before = local.read(await local.run(other, "process"))["pid"]
    lost = await local.run(job, name)
    assert isinstance(lost, ExecutorLost)
    assert (lost.executor, lost.culprit) == ("e0", "a")
    assert lost.cause.startswith(cause)
    assert f"dagrl: {lost.cause}" in local.log(job, name)
    assert local.read(await local.run(other, "process"))["pid"] != before


async def test_a_crash_leaves_the_place_where_it_happened_in_the_log(local: Any) -> None:
    job = local.job("a", local.step("crash"))
    await local.run(job, "crash")
    assert "Fatal Python error: Segmentation fault" in local.log(job, "crash")
    assert "in crash" in local.log(job, "crash")


async def test_orders_behind_the_one_that_ended_the_process_tell_nothing(local: Any) -> None:
    job = local.job("a", local.step("exit_at_once"), local.step("draw"))
    names = ("draw", "exit_at_once", "draw", "draw")
    events = await asyncio.gather(*(local.order(job, local.attempt(job, name)) for name in names))
    assert [type(event) for event in events] == [TaskFinished, ExecutorLost, type(None), type(None)]
    assert isinstance(await local.run(job, "draw"), TaskFinished)


async def test_a_process_that_ends_without_work_is_told_with_the_next_order(local: Any, until: Any) -> None:
    job = local.job("a", local.step("process"))
    pid = local.read(await local.run(job, "process"))["pid"]
    os.kill(pid, 9)
    await until(lambda: not Path(f"/proc/{pid}").exists())
    await asyncio.sleep(0.05)
    first, second = local.order(job, local.attempt(job, "process")), local.order(job, local.attempt(job, "process"))
    lost = await first
    assert isinstance(lost, ExecutorLost)
    assert (lost.culprit, await second) == (None, None)
    assert "SIGKILL" in lost.cause
    assert isinstance(await local.run(job, "process"), TaskFinished)


@pytest.mark.parametrize("name", ["hang", "hang_in_c"])
async def test_a_step_that_outlives_its_timeout_is_killed_and_its_log_says_where_it_was(local: Any, name: str) -> None:
    job = local.job("a", local.step(name, timeout_seconds=0.2), local.step("draw"))
    lost = await local.run(job, name)
    assert isinstance(lost, ExecutorLost)
    assert lost.cause == f"a/0/{name} did not end within its timeout of 0.2 s; its process was killed"
    assert f"in {name}" in local.log(job, name)
    assert isinstance(await local.run(job, "draw"), TaskFinished)


async def test_a_step_that_notices_its_timeout_costs_nobody_the_process(local: Any, tmp_path: Path) -> None:
    settings = {"params": {"flag": str(tmp_path / "flag")}}
    job = local.job("a", local.step("heed", timeout_seconds=0.2), local.step("process"), **settings)
    before = local.read(await local.run(job, "process"))
    failed = await local.run(job, "heed")
    assert isinstance(failed, TaskFailed)
    assert failed.error == "did not end within its timeout of 0.2 s"
    assert local.read(await local.run(job, "process")) == before


async def test_the_clock_of_a_timeout_starts_with_the_task_and_not_in_the_queue(local: Any, tmp_path: Path) -> None:
    steps = (local.step("heed", timeout_seconds=0.4), local.step("draw", timeout_seconds=0.2))
    job = local.job("a", *steps, params={"flag": str(tmp_path / "flag")})
    slow, quick = local.order(job, local.attempt(job, "heed")), local.order(job, local.attempt(job, "draw"))
    assert isinstance(await slow, TaskFailed)
    assert isinstance(await quick, TaskFinished)


async def test_a_cancel_reaches_a_step_that_runs_and_one_that_still_waits(
    local: Any, tmp_path: Path, until: Any
) -> None:
    flag = tmp_path / "flag"
    job = local.job("a", local.step("heed"), local.step("draw"), params={"flag": str(flag)})
    runs = [local.attempt(job, "heed"), local.attempt(job, "draw")]
    tasks = [local.order(job, run) for run in runs]
    await until(flag.exists)
    for run in reversed(runs):
        assert await local.do(job, Cancel(run.task, run.attempt, "e0")) is None
    running, waiting = await asyncio.gather(*tasks)
    assert isinstance(running, TaskFailed)
    assert isinstance(waiting, TaskFailed)
    assert running.error == "StepCancelledError: a/0/heed was asked to stop"
    assert waiting.error == "StepCancelledError: a/0/draw was cancelled before it began"
    assert isinstance(await local.run(job, "draw"), TaskFinished)


async def test_a_task_begins_where_dagrl_was_started_wherever_others_have_gone(local: Any) -> None:
    job, other = local.job("a", local.step("wander")), local.job("b", local.step("where"))
    before = local.read(await local.run(other, "where"))
    await local.run(job, "wander")
    assert local.read(await local.run(other, "where")) == before


@pytest.mark.parametrize(
    ("build", "error"),
    [
        ("build_nothing", "TypeError: the build function of context 'c' returned nothing; it returns the state"),
        ("build_socket", "UnsupportedStateError: parts.1: a _io.TextIOWrapper cannot be saved; give it state_dict()"),
    ],
)
async def test_a_context_that_cannot_be_kept_fails_when_it_is_built(local: Any, build: str, error: str) -> None:
    job = local.job("a", local.context("c", build))
    failed = await local.init(job, "c")
    assert isinstance(failed, TaskFailed)
    assert failed.error.startswith(error)


async def test_modes_and_threads_are_each_jobs_own(local: Any) -> None:
    def torch_job(name: str, threads: int) -> Any:
        parts = [local.step(step, "c", file="torch_steps") for step in ("set_modes", "see_modes", "train")]
        return local.job(name, local.context("c", "build_actor", file="torch_steps"), *parts, threads=threads)

    changed, other = torch_job("a", 1), torch_job("b", 2)
    for job in (changed, other):
        await local.init(job, "c")
    await local.run(changed, "set_modes")
    assert local.read(await local.run(other, "see_modes")) == {"dtype": "torch.float32", "deterministic": False}
    assert local.read(await local.run(changed, "see_modes")) == {"dtype": "torch.float64", "deterministic": True}
    assert dict((await local.run(other, "train")).metrics)["threads"] == 2
    done = await local.run(torch_job("a", 1), "see_modes")
    assert not math.isnan(done.finished)


async def test_generators_begin_alike_whether_or_not_another_job_has_loaded_their_library(local: Any) -> None:
    await local.start("e1")
    job, other = (local.job(name, local.step("draw", file="torch_steps"), seed=3) for name in ("a", "b"))
    first = local.read(await local.run(job, "draw"))
    assert isinstance(await local.run(other, "draw", 1, "e1"), TaskFinished)
    assert local.read(await local.run(other, "draw", 0, "e1")) == first
