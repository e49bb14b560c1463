"""The page that people copy from: short, and it learns."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from tests.recipes.conftest import Rehearsal

PAGE = Path(__file__).parents[2] / "specs" / "own-steps"


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found = spec_from_file_location("own_steps", PAGE / "steps.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "own_steps", module)
    text = (PAGE / "own-steps.yaml").read_text().replace("./steps.py:", "own_steps:")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def test_it_fits_on_a_page() -> None:
    assert len((PAGE / "steps.py").read_text().splitlines()) < 80


def test_it_learns_to_walk_home(spec: dict[str, Any], rehearse: type[Rehearsal]) -> None:
    logged = rehearse(spec, spec["params"], seed=spec["seed"]).run(spec["iterations"])
    assert logged[0]["reward"] < 0
    # Home is 5 moves away on average, and a move costs 0.05.
    assert logged[-1]["reward"] == pytest.approx(1 / 5 - 0.05, abs=0.03)
