"""What README and docs show works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dagrl.spec import load_cluster, load_jobs

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "specs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


SPECS = [(page, block) for page in PAGES for block in blocks(page, "yaml")]
SCRIPTS = [(page, block) for page in PAGES for block in blocks(page, "python") if "__main__" in block]


@pytest.mark.parametrize(("page", "block"), SPECS, ids=lambda each: getattr(each, "stem", ""))
def test_specs_in_the_docs_are_valid(page: Path, block: str, tmp_path: Path) -> None:
    path = tmp_path / f"{page.stem}.yaml"
    path.write_text(block)
    if "executors:" in block:
        assert load_cluster(path).executors
    else:
        assert load_jobs([path])


@pytest.mark.parametrize(("page", "block"), SCRIPTS, ids=lambda each: getattr(each, "stem", ""))
def test_scripts_in_the_docs_run(page: Path, block: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(block)
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, timeout=60)
    assert list(tmp_path.glob("runs/*/checkpoints/mine/*")), page


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.slow
def test_the_page_to_copy_from_learns(tmp_path: Path) -> None:
    spec = ROOT / "specs" / "own-steps" / "own-steps.yaml"
    command = [sys.executable, "-m", "dagrl", "run", str(spec), "--run-dir", "out"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=100)
    told = subprocess.run(
        [sys.executable, "-m", "dagrl", "timeline", "out"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    first, last = re.findall(r"(-?[\d.]+) → (-?[\d.]+)", told)[0]
    assert float(last) > float(first) + 0.1
