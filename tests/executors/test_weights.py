"""Weights between contexts: who takes what, by which name, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dagrl.model import ContextId, Job, Step, StepKind
from dagrl_local.blocks import Block, SharedBlock
from dagrl_local.publications import Publications
from dagrl_local.publish import WeightsError, load_weights, weights_of
from dagrl_local.state import lay_out, read_tree
from dagrl_local.state.image import image_in


def linear(value: float, **settings: Any) -> nn.Linear:
    module = nn.Linear(2, 2, **settings)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(value)
    return module


def value_of(module: Any) -> float:
    return float(next(module.parameters()).detach().flatten()[0])


def hand_over(source: Any, target: Any) -> list[Any]:
    return load_weights(target, read_tree(image_in(lay_out(weights_of(source), {}), Block)))


class Counted:
    """Weights without torch."""

    def __init__(self, value: int) -> None:
        self.value = value

    def state_dict(self) -> dict[str, int]:
        return {"value": self.value}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.value = state["value"]


class Hooked(dict[str, Any]):
    """A state that says itself what its weights are."""

    def weights(self) -> dict[str, torch.Tensor]:
        return {"w": self["module"].weight}

    def load_weights(self, weights: dict[str, torch.Tensor]) -> None:
        with torch.no_grad():
            self["module"].weight.copy_(weights["w"])


@pytest.mark.parametrize("source_bare", [True, False])
@pytest.mark.parametrize("target_bare", [True, False])
def test_modules_meet_by_name_and_two_single_ones_without(*, source_bare: bool, target_bare: bool) -> None:
    source, target = linear(3), linear(0)
    taken = hand_over(source if source_bare else {"m": source}, target if target_bare else {"m": target, "other": 1})
    assert value_of(target) == 3
    assert [id(live) for live, _ in taken] == [id(each) for each in target.parameters()]


def test_only_common_names_are_taken_and_optimizers_are_no_weights() -> None:
    source = {"actor": linear(1), "critic": linear(2), "optimizer": torch.optim.SGD(linear(0).parameters())}
    target = {"actor": linear(0), "reference": linear(9)}
    hand_over(source, target)
    assert (value_of(target["actor"]), value_of(target["reference"])) == (1, 9)


def test_persistent_buffers_are_weights_and_caches_are_not() -> None:
    source, target = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    source.register_buffer("cache", torch.ones(3), persistent=False)
    target.register_buffer("own", torch.zeros(5), persistent=False)
    source(torch.randn(4, 2))
    hand_over(source, target)
    assert torch.equal(source.running_mean, target.running_mean)  # type: ignore[arg-type]
    assert target.own.tolist() == [0, 0, 0, 0, 0]  # type: ignore[operator]


def test_tied_weights_stay_tied() -> None:
    def tied(value: float) -> nn.Sequential:
        first, second = linear(value), linear(value)
        second.weight = first.weight
        return nn.Sequential(first, second)

    target = tied(0)
    hand_over(tied(4), target)
    assert target[0].weight is target[1].weight
    assert value_of(target) == 4


def test_a_state_may_say_what_its_weights_are() -> None:
    source, target = Hooked(module=linear(5)), Hooked(module=linear(0, bias=False))
    assert hand_over(source, target) == [], "where it put them is its own affair"
    assert value_of(target["module"]) == 5


def test_objects_with_state_dict_have_weights_where_there_is_no_module() -> None:
    target = {"policy": Counted(0), "other": Counted(7)}
    assert hand_over({"policy": Counted(3)}, target) == []
    assert (target["policy"].value, target["other"].value) == (3, 7)


@pytest.mark.parametrize(
    ("source", "target", "fault"),
    [
        ({"m": linear(1)}, {"m": nn.Linear(3, 2)}, r"m.weight: published as torch.float32 \[2, 2\], the target has"),
        ({"m": linear(1)}, {"m": linear(0).double()}, "the target has torch.float64"),
        ({"m": linear(1)}, {"m": linear(0, bias=False)}, "m.bias: the target has no such tensor"),
        ({"m": linear(1, bias=False)}, {"m": linear(0)}, "m.bias: the source published no such tensor"),
        ({"a": linear(1)}, {"b": linear(0)}, "the source published 'a', the target holds 'b'; give them a common name"),
        ({"a": linear(1)}, {"b": 3}, "the target holds nothing that takes weights"),
        ({"b": 3}, {"a": linear(1)}, "the source holds no weights"),
    ],
)
def test_weights_that_do_not_fit_are_named(source: Any, target: Any, fault: str) -> None:
    with pytest.raises(WeightsError, match=fault):
        hand_over(source, target)


class Published:
    """Publications of one job, and which versions are still there."""

    def __init__(self, directory: Path) -> None:
        self.step = Step("propagate", StepKind.PROPAGATE, "train", None, "actor", targets=("s1", "s2", "unused"))
        users = tuple(Step(name, StepKind.SAMPLE, "rollout", "f", name) for name in ("s1", "s2"))
        self.job = Job("a", 9, (self.step, *users))
        self.publications = Publications()
        self._directory = directory

    def publish(self, version: int) -> None:
        block = SharedBlock.create(10, self._directory)
        self.publications.publish(self.job, self.step, version, os.dup(block.fd))
        block.close()

    def load(self, target: str, version: int) -> None:
        self.publications.loaded(ContextId("a", target), "propagate", version)

    @property
    def kept(self) -> list[int]:
        return [version for version in range(9) if self.publications.find("a", "propagate", version) is not None]


def test_a_version_is_kept_until_every_receiver_has_a_newer_one(tmp_path: Path) -> None:
    published = Published(tmp_path)
    for version in range(3):
        published.publish(version)
    assert published.kept == [0, 1, 2]
    published.load("s1", 2)
    assert published.kept == [0, 1, 2]
    published.load("s2", 1)
    assert published.kept == [1, 2]
    published.publish(3)
    published.publish(3)
    assert published.kept == [1, 2, 3]
    published.publications.dropped(ContextId("a", "s2"))
    assert published.kept == [2, 3]
    published.publications.dropped(ContextId("a", "s1"))
    assert published.kept == []
    published.publish(4)
    assert published.kept == [], "nobody is left to load it"
    published.publications.close()


def test_closing_frees_what_is_left(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    published = Published(tmp_path)
    published.publish(0)
    published.publications.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
