"""Global generators and modes belong to contexts: no import, no other job, no order of events shows in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dagrl.events import TaskFinished
from dagrl_local import ambient, import_guard, sources
from dagrl_local.ambient import Ambience, Snapshot

DRAWING_MODULE = """
import random, numpy, torch
random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
"""

STEPS = """
import random

def draw(step):
    if step.params["late"]:
        import drawing_module
    import numpy, torch
    return {"drawn": [random.random(), numpy.random.rand(), torch.rand(()).item(), str(torch.rand(()).dtype)]}

def meet(step):
    import drawing_module
"""


@pytest.fixture
def ambience(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ambience]:
    """The sources of this very process, put back afterwards."""
    monkeypatch.setattr(ambient, "guard_imports", lambda _: nullcontext)
    before = {source.name: source.get() for source in sources.SOURCES}
    threads = torch.get_num_threads()
    yield Ambience()
    for source in sources.SOURCES:
        if before[source.name] is not None:
            source.set(before[source.name])
    torch.set_num_threads(threads)


def draw() -> tuple[float, ...]:
    return random.random(), np.random.rand(), torch.rand(()).item()  # noqa: NPY002


def test_a_task_goes_on_with_the_numbers_where_its_context_left_them(ambience: Ambience) -> None:
    ambience.enter(Snapshot(3), threads=1)
    first = draw()
    left = ambience.leave()
    expected = draw()
    ambience.enter(Snapshot(4), threads=1)
    assert draw() != first
    ambience.enter(left, threads=1)
    assert draw() == expected
    ambience.enter(Snapshot(3), threads=1)
    assert draw() == first


def test_a_source_that_nobody_used_is_noted_down_as_nothing(ambience: Ambience) -> None:
    ambience.enter(Snapshot(3), threads=1)
    assert ambience.leave() == Snapshot(3)
    random.random()
    assert set(ambience.leave().states) == {"python"}
    random.seed(3)
    assert ambience.leave() == Snapshot(3)


def test_modes_belong_to_the_context_that_set_them(ambience: Ambience) -> None:
    ambience.enter(Snapshot(3), threads=1)
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("high")
    torch.use_deterministic_algorithms(mode=True)
    torch.backends.cudnn.benchmark = True
    torch.set_default_device("meta")
    with torch.no_grad():
        left = ambience.leave()
    for other in (Snapshot(4), Snapshot(3)):
        ambience.enter(other, threads=1)
        assert (torch.get_default_dtype(), torch.get_float32_matmul_precision()) == (torch.float32, "highest")
        assert not torch.are_deterministic_algorithms_enabled()
        assert not torch.backends.cudnn.benchmark
        assert torch.is_grad_enabled()
        assert torch.zeros(1).device.type == "cpu"
    ambience.enter(left, threads=1)
    assert (torch.get_default_dtype(), torch.get_float32_matmul_precision()) == (torch.float64, "high")
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.backends.cudnn.benchmark
    assert not torch.is_grad_enabled()
    assert torch.zeros(1).device.type == "meta"


def test_the_defaults_are_torchs_own() -> None:
    modes = sources.TorchModes()
    before = modes.get()
    modes.seed(0)
    assert modes.get() == before


def test_threads_are_set_for_each_task(ambience: Ambience) -> None:
    for threads in (2, 1):
        ambience.enter(Snapshot(3), threads)
        assert torch.get_num_threads() == threads


async def test_an_import_in_the_middle_of_a_task_changes_no_result(
    local: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drawing_module.py").write_text(DRAWING_MODULE)
    (tmp_path / "steps.py").write_text(STEPS)
    monkeypatch.syspath_prepend(tmp_path)
    for executor in ("e1", "e2"):
        await local.start(executor)
    file = str(tmp_path / "steps")
    seen = []
    for name, executor, late in (("a", "e1", True), ("b", "e2", True), ("c", "e1", False)):
        job = local.job(name, local.step("draw", file=file), local.step("meet", file=file), params={"late": late})
        if name == "b":
            assert isinstance(await local.run(job, "meet", executor=executor), TaskFinished)
        seen.append(local.read(await local.run(job, "draw", executor=executor)))
    assert seen[0]["drawn"][3] == "torch.float32"
    assert seen[0] == seen[1] == seen[2]


def test_a_guarded_import_leaves_modules_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outer_module.py").write_text("import importlib.util\nimport inner_module\n")
    (tmp_path / "inner_module.py").write_text("raised = False\n")
    (tmp_path / "broken_module.py").write_text("raise ValueError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    import sys
    from importlib.util import find_spec

    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    calls: list[str] = []

    def around(name: str) -> Any:
        calls.append(name)
        return lambda: calls.append(f"after {name}")

    import_guard.guard_imports(around)
    spec = find_spec("outer_module")
    assert spec is not None
    assert spec.loader is not None
    assert spec.loader.get_source("outer_module") == "import importlib.util\nimport inner_module\n"  # type: ignore[attr-defined]
    assert calls == []
    import outer_module  # type: ignore[import-not-found]

    assert calls == ["outer_module", "after outer_module"]
    assert type(outer_module.__loader__).__name__ == type(outer_module.__spec__.loader).__name__ == "SourceFileLoader"
    with pytest.raises(ValueError, match="no"):
        import broken_module  # type: ignore[import-not-found]  # noqa: F401
    assert calls[2:] == ["broken_module", "after broken_module"]
    for name in ("outer_module", "inner_module"):
        del sys.modules[name]
