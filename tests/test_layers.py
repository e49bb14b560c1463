from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHECKOUT = os.pathsep.join(map(str, (ROOT, ROOT / "executors", ROOT / "tui")))
#: What takes long to import, or is not there without an extra.
HEAVY = ("torch", "numpy", "transformers", "stable_baselines3", "gymnasium", "textual", "networkx", "aiomqtt", "ray")
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"


def python(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": CHECKOUT}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def loaded_by(statement: str) -> set[str]:
    done = python(
        "-c", f"import sys\ntry:\n    {statement}\nexcept SystemExit:\n    pass\nprint('LOADED', *sys.modules)"
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.rpartition("LOADED")[2].split()}


@pytest.mark.parametrize(
    "statement",
    [
        "import dagrl",
        "import dagrl.cli",
        "sys.argv = ['dagrl', '--help']; import dagrl.cli; dagrl.cli.main()",
        "import dagrl_tui.report, dagrl_tui.live, dagrl_tui.picture",
    ],
)
def test_what_people_wait_for_loads_nothing_heavy(statement: str) -> None:
    assert not loaded_by(statement) & set(HEAVY)


def test_importing_dagrl_reads_no_yaml_and_checks_no_types() -> None:
    assert not loaded_by("import dagrl") & {"pydantic", "yaml", "typer", "rich", "sqlite_utils"}


def test_imports_go_one_way() -> None:
    done = python("-c", LINT_IMPORTS)
    assert done.returncode == 0, done.stdout


def test_a_bare_checkout_runs_from_any_directory(tmp_path: Path) -> None:
    done = python("-m", "dagrl", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "timeline" in done.stdout
