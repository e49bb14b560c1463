"""Contexts on real workers: evicted and restored in place, rebuilt in a new process, fed by a propagate; always same bits."""

from __future__ import annotations

from typing import Any

import pytest

from dagrl.events import ContextFaulted, ContextSaved, ExecutorLost, TaskFailed, TaskFinished, WeightsLoaded
from dagrl.model import OnEvict

TASKS = 3

pytestmark = pytest.mark.asyncio(loop_scope="module")


def actor_job(shared: Any, name: str, **settings: Any) -> Any:
    parts = (
        shared.context("actor", "build_actor", file="torch_steps"),
        shared.context("sampler", "build_sampler", file="torch_steps", on_evict=OnEvict.DISCARD),
        shared.step("train", "actor", file="torch_steps"),
        shared.propagate("actor", "sampler"),
        shared.step("sample", "sampler", file="torch_steps"),
        shared.step("exit_at_once"),
    )
    return shared.job(name, *parts, seed=5, **settings)


async def metrics(shared: Any, job: Any, iteration: int) -> dict[str, float]:
    done = await shared.run(job, "train", iteration)
    assert isinstance(done, TaskFinished), done
    return dict(done.metrics)


async def alone(shared: Any, job: Any) -> tuple[list[dict[str, float]], str]:
    await shared.init(job, "actor")
    found = [await metrics(shared, job, iteration) for iteration in range(TASKS)]
    return found, await shared.digest(job, "actor")


async def test_a_context_evicted_after_every_task_keeps_its_objects_and_its_bits(shared: Any) -> None:
    solo, digest = await alone(shared, actor_job(shared, "solo0"))
    job, other = actor_job(shared, "a0"), actor_job(shared, "b0")
    await shared.init(job, "actor")
    await shared.init(other, "actor")
    for iteration in range(TASKS):
        for each in (job, other):
            moved = await shared.restore(each, "actor")
            assert not isinstance(moved, ContextFaulted), moved
            now = await metrics(shared, each, iteration)
            assert now["loss"] == solo[iteration]["loss"]
            out = await shared.evict(each, "actor")
            assert out.bytes > 0
    for each in (job, other):
        restored = await shared.restore(each, "actor")
        assert restored.bytes == out.bytes
        assert await shared.digest(each, "actor") == digest


async def test_parameters_stay_the_same_objects_through_a_switch(shared: Any) -> None:
    job = actor_job(shared, "t1")
    await shared.init(job, "actor")
    before = (await metrics(shared, job, 0))["identity"]
    await shared.evict(job, "actor")
    await shared.restore(job, "actor")
    assert (await metrics(shared, job, 1))["identity"] == before


async def test_an_evicted_context_is_not_touched(shared: Any) -> None:
    job = actor_job(shared, "t2")
    await shared.init(job, "actor")
    await shared.evict(job, "actor")
    failed = await shared.run(job, "train")
    assert isinstance(failed, TaskFailed)
    assert failed.error == "ContextUnusableError: context 'actor' is evicted"
    faulted = await shared.checkpoint(job, "actor")
    assert isinstance(faulted, ContextFaulted)
    assert (faulted.operation, faulted.context.name) == ("checkpoint", "actor")


async def test_a_saved_context_outlives_the_process_and_goes_on_with_the_same_bits(shared: Any) -> None:
    solo, digest = await alone(shared, actor_job(shared, "solo3"))
    job, culprit = actor_job(shared, "a3"), actor_job(shared, "b3")
    await shared.init(job, "actor")
    for iteration in range(TASKS):
        assert (await metrics(shared, job, iteration))["loss"] == solo[iteration]["loss"]
        assert isinstance(await shared.save(job, "actor"), ContextSaved)
        assert isinstance(await shared.run(culprit, "exit_at_once"), ExecutorLost)
        faulted = await shared.run(job, "train", iteration)
        assert isinstance(faulted, TaskFailed)
        restored = await shared.restore(job, "actor")
        assert restored.bytes > 0, restored
    assert await shared.digest(job, "actor") == digest


async def test_only_what_was_saved_can_be_restored_in_a_new_process(shared: Any) -> None:
    job = actor_job(shared, "t4")
    await shared.init(job, "actor")
    await shared.run(job, "exit_at_once")
    faulted = await shared.restore(job, "actor")
    assert isinstance(faulted, ContextFaulted)
    assert faulted.error == "there is nothing saved or published to take it from"


async def test_a_save_without_a_change_copies_nothing(shared: Any) -> None:
    job = actor_job(shared, "t5")
    await shared.init(job, "actor")
    assert (await shared.save(job, "actor")).bytes > 0
    assert (await shared.save(job, "actor")).bytes == 0
    assert (await shared.evict(job, "actor")).bytes == 0


async def test_weights_travel_from_one_worker_to_another_and_carry_their_version(shared: Any) -> None:
    job = actor_job(shared, "t6")
    await shared.init(job, "actor")
    await shared.init(job, "sampler", "e1")
    seen = []
    for version in range(3):
        if version:
            await metrics(shared, job, version - 1)
        assert isinstance(await shared.run(job, "propagate", version - 1), TaskFinished)
        loaded = await shared.load(job, "sampler", version, "e1")
        assert isinstance(loaded, WeightsLoaded), loaded
        assert loaded.bytes > 0
        seen.append(shared.artifact(await shared.run(job, "sample", version, "e1")))
    assert [each["version"] for each in seen] == [0, 1, 2]
    assert len({each["mean"] for each in seen}) == 3
    faulted = await shared.load(job, "sampler", 0, "e1")
    assert isinstance(faulted, ContextFaulted), "version 0 was dropped once version 1 was loaded"


@pytest.mark.parametrize("lose_process", [False, True])
async def test_a_discarded_context_saves_no_weights_and_samples_the_same_after_a_load(
    shared: Any, *, lose_process: bool
) -> None:
    kept, moved = actor_job(shared, "kept7"), actor_job(shared, "moved7")
    for job in (kept, moved):
        await shared.init(job, "actor")
        await shared.init(job, "sampler", "e1")
        await shared.run(job, "propagate", -1)
        await shared.load(job, "sampler", 0, "e1")
    whole = (await shared.save(kept, "actor")).bytes
    for iteration in range(2):
        assert (await shared.evict(moved, "sampler", "e1")).bytes < whole / 8
        if lose_process:
            await shared.save(kept, "sampler", "e1")
            await shared.run(moved, "exit_at_once", executor="e1")
            await shared.restore(kept, "sampler", "e1")
            await shared.load(kept, "sampler", 0, "e1")
        await shared.restore(moved, "sampler", "e1")
        unusable = await shared.run(moved, "sample", iteration, "e1")
        assert isinstance(unusable, TaskFailed)
        assert "without its weights" in unusable.error
        assert isinstance(await shared.load(moved, "sampler", 0, "e1"), WeightsLoaded)
        here = shared.artifact(await shared.run(moved, "sample", iteration, "e1"))
        there = shared.artifact(await shared.run(kept, "sample", iteration, "e1"))
        assert here["mean"] == there["mean"]
    digests = {await shared.digest(job, "sampler", "e1") for job in (kept, moved)}
    assert len(digests) == 1


async def test_a_job_of_plain_python_has_weights_too(shared: Any) -> None:
    parts = (
        shared.context("trainer", "build_policy"),
        shared.context("actor", "build_policy"),
        shared.step("improve", "trainer"),
        shared.propagate("trainer", "actor"),
        shared.step("look", "actor"),
    )
    job = shared.job("a8", *parts)
    for name in ("trainer", "actor"):
        await shared.init(job, name)
    await shared.run(job, "improve")
    await shared.run(job, "propagate")
    await shared.load(job, "actor", 1)
    assert shared.read(await shared.run(job, "look")) == {"values": [1.5, 0.0], "version": 1}


async def test_weights_that_do_not_fit_are_refused_by_name(shared: Any) -> None:
    parts = (
        shared.context("actor", "build_actor", file="torch_steps"),
        shared.context("sampler", "build_wider", file="torch_steps"),
        shared.propagate("actor", "sampler"),
        shared.step("sample", "sampler", file="torch_steps"),
    )
    job = shared.job("a9", *parts)
    for name in ("actor", "sampler"):
        await shared.init(job, name)
    await shared.run(job, "propagate", -1)
    faulted = await shared.load(job, "sampler", 0)
    assert isinstance(faulted, ContextFaulted)
    assert faulted.operation == "load"
    assert faulted.error == "WeightsError: model.0.bias: the target has no such tensor"


async def test_a_dropped_context_is_gone_with_its_copy(shared: Any) -> None:
    job = actor_job(shared, "t10")
    await shared.init(job, "actor")
    await shared.save(job, "actor")
    await shared.drop(job, "actor")
    assert isinstance(await shared.run(job, "train"), TaskFailed)
    assert isinstance(await shared.restore(job, "actor"), ContextFaulted)
