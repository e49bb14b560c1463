"""Artifacts: what a step hands on is read back as what it was, and what cannot be handed on is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from dagrl_local.artifacts import NoArtifactError, read_artifact, write_artifact

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


def stored(value: Any, directory: Path) -> Any:
    path = write_artifact(value, directory / "step")
    assert path is not None
    return read_artifact(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_json_comes_back_equal(tmp_path: Path, value: dict[str, Any]) -> None:
    assert stored(value, tmp_path) == value


def test_plain_values_are_a_file_of_json(tmp_path: Path) -> None:
    path = write_artifact({"a": (1, 2.5), "b": np.float32(0.5)}, tmp_path / "deep" / "step")
    assert path == tmp_path / "deep" / "step.json"
    assert json.loads(path.read_text()) == {"a": [1, 2.5], "b": 0.5}
    assert path.stat().st_mode & 0o777 == 0o600


TENSORS = {
    "bfloat16": torch.tensor([1.5, -0.0]).bfloat16(),
    "payload": torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32),
    "complex": torch.tensor([1 + 2j], dtype=torch.complex128),
    "bool": torch.tensor([[True], [False]]),
    "number": torch.tensor(3),
    "empty": torch.zeros(0, 2),
    "turned": torch.arange(6).view(2, 3).T,
    "view": torch.arange(10)[2:5],
    "trained": torch.nn.Parameter(torch.ones(2)),
}
ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "float16": np.array([1, -0.0], np.float16),
    "big": np.arange(3, dtype=">i4"),
    "text": np.array(["é", "abc"]),
    "complex": np.array(1 + 2j),
    "date": np.array(["2020-01-01"], "M8[D]"),
    "turned": np.arange(6).reshape(2, 3).T,
    "empty": np.zeros((0, 3)),
    "repeated": np.broadcast_to(np.float32(2), (2, 2)),
}


def test_tensors_and_arrays_come_back_as_what_they_were_wherever_they_stand(tmp_path: Path) -> None:
    back = stored({"t": TENSORS, "list": [{"a": ARRAYS}, 1], "a.b": 1, "a": {"b": torch.ones(1)}}, tmp_path)
    assert (back["a.b"], back["a"]["b"].tolist(), back["list"][1]) == (1, [1], 1)
    for name, tensor in TENSORS.items():
        found = back["t"][name]
        assert (type(found), found.dtype, found.shape) == (torch.Tensor, tensor.dtype, tensor.shape)
        assert str(found.reshape(-1).view(torch.uint8)) == str(tensor.detach().reshape(-1).view(torch.uint8))
    for name, array in ARRAYS.items():
        found = back["list"][0]["a"][name]
        assert (type(found), found.dtype, found.shape) == (np.ndarray, array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()


def test_tensors_that_share_memory_are_stored_one_by_one(tmp_path: Path) -> None:
    whole = torch.arange(4)
    back = stored({"whole": whole, "part": whole[1:3], "again": whole}, tmp_path)
    assert (back["part"].tolist(), back["again"].tolist()) == ([1, 2], [0, 1, 2, 3])


def test_what_was_read_may_be_written_to(tmp_path: Path) -> None:
    path = write_artifact({"t": torch.zeros(2), "a": np.zeros(2)}, tmp_path / "step")
    assert path is not None
    first = read_artifact(path)
    first["t"][0] = first["a"][0] = 5
    second = read_artifact(path)
    assert (second["t"].tolist(), second["a"].tolist()) == ([0, 0], [0, 0])


def test_any_tool_reads_the_tensors_by_name(tmp_path: Path) -> None:
    path = write_artifact({"batch": {"ids": torch.arange(3)}, "n": [np.ones(2)]}, tmp_path / "step")
    with safe_open(path, framework="pt") as file:
        assert sorted(file.keys()) == ["batch.ids", "n.0"]


def test_a_step_may_return_nothing(tmp_path: Path) -> None:
    assert write_artifact(None, tmp_path / "step") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([1], "the step returned a value of type list; a step returns nothing, or a dict of names to values"),
        (torch.ones(1), "the step returned a value of type torch.Tensor"),
        ({"a": [{"b": {1}}]}, r"the step's artifact has at \['a'\]\[0\]\['b'\] a value of type set; an artifact holds"),
        ({"a": b"x"}, "a value of type bytes"),
        ({"a": torch.eye(2).to_sparse()}, r"has at \['a'\] a tensor that is not dense"),
        ({"a": np.array([None])}, r"has at \['a'\] a value of type numpy.ndarray"),
        ({"a": np.zeros(1, [("x", "f4")])}, r"has at \['a'\] a structured array"),
        ({3: 1}, "has the key 3 at its top level; keys are strings, use '3'"),
        ({"a": {None: 1}}, r"has the key None at \['a'\]"),
    ],
)
def test_what_is_no_artifact_is_named_with_its_place(tmp_path: Path, value: Any, fault: str) -> None:
    with pytest.raises(NoArtifactError, match=fault):
        write_artifact(value, tmp_path / "step")
    assert list(tmp_path.iterdir()) == []


def test_arrays_need_no_torch_and_json_needs_no_numpy(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from dagrl_local.artifacts import *; d = Path(sys.argv[1]);"
        "assert read_artifact(write_artifact({'a': 1}, d / 'j')) == {'a': 1}; assert 'numpy' not in sys.modules;"
        "import numpy; back = read_artifact(write_artifact({'a': numpy.ones(2), 's': numpy.array('x')}, d / 'n'));"
        "assert back['a'].tolist() == [1, 1] and back['s'] == 'x'; assert 'torch' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}", str(tmp_path)], check=True, timeout=60
    )
