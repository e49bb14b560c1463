"""Durable checkpoints: complete or absent, readable by others, and enough to go on in a state built anew."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from dagrl_local import load_checkpoint, restore
from dagrl_local.checkpoint import write_checkpoint
from dagrl_local.state import Scan, digest
from dagrl_local.state.names import leaf_names


def build(seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3))
    model[2].weight = model[0].weight
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    buffer = np.arange(6.0)
    return {
        "model": model,
        "optimizer": optimizer,
        "buffer": buffer,
        "tail": buffer[3:],
        "generator": np.random.default_rng(seed),
        "wide": torch.randn(2, 1).expand(2, 5),
        "count": seed,
        "nothing": torch.zeros(0),
    }


def write(state: Any, path: Path, **extras: Any) -> Any:
    return write_checkpoint(Scan(state), extras, {}, path)


def test_a_checkpoint_restores_a_state_that_was_built_anew(tmp_path: Path) -> None:
    saved, live = build(1), build(2)
    written = write(saved, tmp_path / "c", version=3)
    tree = load_checkpoint(tmp_path / "c")
    assert (tree.extras["version"], tree.extras["digest"]) == (3, written.digest)
    assert restore(live, tree) is live
    assert digest(Scan(live), {}) == written.digest
    assert live["model"][2].weight is live["model"][0].weight
    live["buffer"][4] = 77
    assert live["tail"][1] == 77


def test_its_tensors_have_the_names_that_people_know(tmp_path: Path) -> None:
    state = build(1)
    write(state, tmp_path / "c")
    tensors = load_file(tmp_path / "c" / "tensors.safetensors")
    assert {
        "model.0.weight",
        "model.1.running_mean",
        "optimizer.state.0.exp_avg",
        "buffer",
        "model.0.bias.grad",
    } <= set(tensors)
    assert "model.2.weight" not in tensors, "tied weights are stored once"
    assert torch.equal(tensors["model.0.weight"], state["model"][0].weight)
    other = nn.Linear(3, 3)
    write(other, tmp_path / "bare")
    other.load_state_dict(load_file(tmp_path / "bare" / "tensors.safetensors"))


def test_a_state_without_tensors_is_one_file(tmp_path: Path) -> None:
    written = write({"count": 3}, tmp_path / "c")
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["state.json"]
    assert written.bytes == (tmp_path / "c" / "state.json").stat().st_size
    assert restore({"count": 0}, load_checkpoint(tmp_path / "c")) == {"count": 3}


def test_a_checkpoint_replaces_the_one_before_and_leaves_nothing_else(tmp_path: Path) -> None:
    for count in range(2):
        write({"count": count}, tmp_path / "a" / "c")
    assert restore(None, load_checkpoint(tmp_path / "a" / "c")) == {"count": 1}
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["c"]


def test_a_write_that_fails_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"count": 1}, tmp_path / "c")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dagrl_local.checkpoint.sync", full)
    with pytest.raises(OSError, match="No space left"):
        write({"count": 2}, tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert restore(None, load_checkpoint(tmp_path / "c")) == {"count": 1}


def test_a_digest_covers_what_is_kept_beside_the_state(tmp_path: Path) -> None:
    scan = Scan({"count": 3})
    first = write_checkpoint(scan, {"a": 1}, {"seed": 1}, tmp_path / "a")
    second = write_checkpoint(scan, {"a": 2}, {"seed": 1}, tmp_path / "b")
    third = write_checkpoint(scan, {"a": 1}, {"seed": 2}, tmp_path / "c")
    assert first.digest == second.digest != third.digest
    assert json.loads((tmp_path / "a" / "state.json").read_text())["digest"] == first.digest


class Kept:
    """State that tells of a tensor under a name of its own."""

    def __init__(self) -> None:
        self.tensor = torch.ones(1)

    def state_dict(self) -> dict[str, Any]:
        return {"tensor": self.tensor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.tensor = state["tensor"]


def test_every_tensor_of_a_state_has_a_name_of_its_own() -> None:
    weight = nn.Parameter(torch.ones(1))
    weight.grad = torch.ones(1)
    state = {
        "list": [torch.ones(1), (np.ones(1),)],
        "deque": deque([torch.ones(1)]),
        "map": {3: torch.ones(1)},
        "kept": Kept(),
        "sgd": torch.optim.SGD([weight], lr=torch.tensor(0.1)),
        "a.b": torch.ones(1),
        "a": {"b": torch.ones(1)},
        "objects": np.array([torch.ones(1), None], object),
    }
    assert leaf_names(Scan(state)) == [
        *("list.0", "list.1.0", "deque.0", "map.3", "kept.tensor", "sgd.param_groups.0.lr"),
        *("sgd.params.0.0", "sgd.params.0.0.grad", "a.b", "a.b_", "objects.0"),
    ]
    assert leaf_names(Scan(torch.ones(1))) == ["state"]
