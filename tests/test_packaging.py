from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = dict(
    line.split("==")
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    return next(directory.glob("*.whl"))


def names(wheel: Path) -> set[str]:
    return set(ZipFile(wheel).namelist())


@pytest.mark.slow
def test_the_wheel_holds_the_three_packages_with_their_types(wheel: Path) -> None:
    for package in ("dagrl", "dagrl_local", "dagrl_tui"):
        assert {f"{package}/__init__.py", f"{package}/py.typed"} <= names(wheel)


@pytest.mark.slow
def test_the_wheel_holds_every_source_and_every_shipped_spec(wheel: Path) -> None:
    for root in (ROOT, ROOT / "executors", ROOT / "tui"):
        for package in ("dagrl", "dagrl_local", "dagrl_tui"):
            assert {str(path.relative_to(root)) for path in (root / package).rglob("*.py")} <= names(wheel)
    specs = {path for folder in ("demo", "own-steps") for path in (ROOT / "specs" / folder).glob("*.*")}
    assert specs
    assert {f"dagrl/{path.relative_to(ROOT)}" for path in specs} <= names(wheel)


@pytest.mark.slow
def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert tops == {"dagrl", "dagrl_local", "dagrl_tui", f"dagrl-{PROJECT['version']}.dist-info"}


@pytest.mark.slow
def test_the_wheel_alone_runs_the_command_line(wheel: Path, tmp_path: Path) -> None:
    ZipFile(wheel).extractall(tmp_path)
    code = "import sys; sys.argv = ['dagrl', '--help']; import dagrl.cli; print(dagrl.cli.__file__); dagrl.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(str(tmp_path))
    assert "timeline" in done.stdout


def test_every_dependency_is_pinned_within_its_range() -> None:
    extras = PROJECT["optional-dependencies"]
    for requirement in (*PROJECT["dependencies"], *(line for lines in extras.values() for line in lines)):
        name = re.split(r"[\[<>=!~ ]", requirement)[0].lower()
        assert name == "dagrl" or name in PINS, f"{name} has no pin"


def test_pins_are_exact_and_torch_comes_first_without_a_local_version() -> None:
    assert next(iter(PINS.items())) == ("torch", "2.13.0")
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in PINS.values())


def test_every_dependency_says_why_it_is_there() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if re.match(r'    "[A-Za-z-]+(\[\w+\])?[<>=]', line)]
    assert len(requirements) > 15
    assert all("#" in line for line in requirements)
