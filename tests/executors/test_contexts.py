"""A held context: what its copy holds, when that is current, and what is missing after a restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dagrl_local.ambient import Snapshot
from dagrl_local.blocks import Block, SharedBlock
from dagrl_local.contexts import ContextUnusableError, HeldContext
from dagrl_local.publish import same_bytes, weights_of
from dagrl_local.state import RestoreError, Tree, lay_out, read_tree
from dagrl_local.state.image import image_in

BIG = 4000


class Blocks:
    """Makes blocks, and remembers which."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.made: list[SharedBlock] = []

    def __call__(self, size: int) -> SharedBlock:
        self.made.append(SharedBlock.create(size, self._directory))
        return self.made[-1]


@pytest.fixture
def make(tmp_path: Path) -> Blocks:
    return Blocks(tmp_path)


def build(value: float) -> dict[str, Any]:
    module = nn.Linear(1, BIG // 4, bias=False)
    with torch.no_grad():
        module.weight.fill_(value)
    return {"model": module, "seen": torch.zeros(8), "count": 0}


def held(state: Any, *, discards: bool = False) -> HeldContext:
    return HeldContext("c", state, Snapshot(3, {"python": [3, "", None]}), "cpu", discards=discards)


def weights(value: float) -> Tree:
    return read_tree(image_in(lay_out(weights_of({"model": build(value)["model"]}), {}), Block))


def first(state: Any) -> float:
    return float(state["model"].weight[0, 0].detach())


def test_device_memory_is_given_back_and_the_very_tensors_are_filled_again(make: Blocks) -> None:
    state = build(2)
    context = held(state)
    weight = state["model"].weight
    assert context.resident_bytes == BIG + 32
    saved = context.evict(make)
    assert saved.bytes == BIG + 32
    assert weight.untyped_storage().nbytes() == state["seen"].untyped_storage().nbytes() == 0
    assert context.reclaim() == BIG + 32
    assert state["model"].weight is weight
    assert first(state) == 2
    assert context.reclaim() == 0


def test_memory_that_is_not_torchs_own_stays_where_it_is(make: Blocks) -> None:
    state = {"mapped": torch.frombuffer(bytearray(8), dtype=torch.float32)}
    context = held(state)
    context.evict(make)
    assert state["mapped"].tolist() == [0, 0]
    state["mapped"].fill_(5)
    context.reclaim()
    assert state["mapped"].tolist() == [5, 5], "it was never away"


def test_memory_that_another_context_uses_as_well_is_not_given_back(make: Blocks) -> None:
    shared = torch.arange(8.0)
    one, other = held({"shared": shared, "own": torch.ones(4)}), held({"view": shared[2:]})
    one.evict(make, other.addresses())
    assert shared.tolist() == list(range(8))
    assert one.reclaim() == 16
    one.begin_task()


def test_weights_that_a_step_changed_after_the_load_are_not_lost(make: Blocks) -> None:
    context = held(build(0), discards=True)
    context.take_weights(weights(1), 0)
    context.begin_task()
    with torch.no_grad():
        context.state["model"].weight.add_(5)
    assert context.evict(make).bytes == BIG + 32
    assert context.reclaim() == BIG + 32
    assert context.take_weights(weights(1), 0) == 0, "it holds that version, and more"
    assert first(context.state) == 6
    assert context.take_weights(weights(2), 1) == BIG
    assert first(context.state) == 2


def test_weights_are_compared_by_their_bytes() -> None:
    zeros, nans = torch.zeros(2), torch.full((2,), float("nan"))
    assert same_bytes(nans, nans.clone())
    assert not same_bytes(zeros, -zeros)
    assert same_bytes(torch.ones(3, 2).T, torch.ones(2, 3))
    assert not same_bytes(torch.ones(2), torch.ones(3))


def test_a_block_is_used_again_until_it_is_too_small(make: Blocks) -> None:
    state = build(1)
    context = held(state)
    assert context.save(make).new_block is make.made[0]
    for _ in range(3):
        context.begin_task()
        state["count"] += 1
        assert context.save(make).new_block is None
    context.begin_task()
    state["more"] = torch.zeros(BIG)
    assert context.save(make).new_block is make.made[1]
    context.close()


def test_a_copy_brings_everything_back_in_another_process(make: Blocks) -> None:
    state = build(4)
    state["count"] = 7
    block = held(state).save(make).new_block
    assert block is not None
    again = HeldContext.rebuilt("c", build(0), block, "cpu", discards=False)
    assert (first(again.state), again.state["count"]) == (4, 7)
    assert again.ambient == Snapshot(3, {"python": [3, "", None]})


def test_a_copy_that_was_cut_off_is_told_from_a_whole_one(make: Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    state = build(4)
    context = held(state)
    block = context.save(make).new_block
    assert block is not None
    context.begin_task()

    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("dagrl_local.state.regions.StorageRegion.copy_out", fail)
    with pytest.raises(MemoryError):
        context.save(make)
    with pytest.raises(RestoreError, match="the process that wrote it ended half way"):
        HeldContext.rebuilt("c", build(0), block, "cpu", discards=False)


def test_a_first_save_that_fails_leaves_no_block(make: Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    context = held(build(1))
    with monkeypatch.context() as patched:
        patched.setattr("dagrl_local.state.image.Image.write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            context.save(make)
    assert context.save(make).new_block is make.made[1]


def test_weights_that_come_again_are_left_out_of_the_copy(make: Blocks) -> None:
    context = held(build(0), discards=True)
    assert context.save(make).bytes == BIG + 32, "nothing was loaded yet"
    assert context.take_weights(weights(1), 0) == BIG
    assert context.save(make).bytes == 32
    context.take_weights(weights(2), 1)
    assert context.save(make).bytes == 0, "the copy is still current"
    context.evict(make)
    assert context.reclaim() == 32
    with pytest.raises(ContextUnusableError, match="restored without its weights, and none were loaded"):
        context.begin_task()
    with pytest.raises(ContextUnusableError):
        context.checkpoint(Path("nowhere"))
    context.take_weights(weights(3), 2)
    context.begin_task()
    assert (first(context.state), context.version) == (3, 2)


def test_weights_that_are_kept_make_the_copy_stale(make: Blocks) -> None:
    context = held(build(0))
    context.save(make)
    context.take_weights(weights(1), 0)
    assert context.save(make).bytes == BIG + 32


def test_a_copy_without_weights_needs_them_in_another_process_too(make: Blocks) -> None:
    context = held(build(0), discards=True)
    context.take_weights(weights(1), 0)
    block = context.save(make).new_block
    assert block is not None
    again = HeldContext.rebuilt("c", build(0), block, "cpu", discards=True)
    with pytest.raises(ContextUnusableError):
        again.begin_task()
    again.take_weights(weights(1), 0)
    assert first(again.state) == 1


def test_an_evicted_context_takes_no_weights(make: Blocks) -> None:
    context = held(build(0))
    context.evict(make)
    with pytest.raises(ContextUnusableError, match="context 'c' is evicted"):
        context.take_weights(weights(1), 0)
    with pytest.raises(ContextUnusableError, match="context 'c' is evicted"):
        context.weights()
