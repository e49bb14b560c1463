"""Functions that a spec names are found without running a line of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dagrl.errors import SpecError
from dagrl.spec import load_jobs

Check = Callable[[str], list[str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """The faults of a spec in `tmp_path/jobs` whose only step runs the reference; `tmp_path` can be imported from."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def check(reference: str) -> list[str]:
        spec = Path("jobs/a.yaml")
        spec.write_text(
            f"version: 1\njob: a\niterations: 1\nsteps:\n  s: {{kind: task, pool: cpu, run: '{reference}'}}\n"
        )
        try:
            load_jobs([spec])
        except SpecError as error:
            return [str(fault).removeprefix("jobs/a.yaml:5:35: steps.s.run: ") for fault in error.faults]
        return []

    return check


def write(path: str, text: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "def sample(ctx): ...",
        "def sample(ctx, /, extra=1, *, more=2): ...",
        "def sample(*args): ...",
        "class sample: ...",
        "sample = make()",
        "(sample, other) = make(), 1",
        "sample: object = make()",
        "if 1:\n    def sample(ctx): ...",
        "try:\n    pass\nexcept ValueError:\n    pass\nelse:\n    def sample(ctx): ...",
        "with open('x') as sample: ...",
        "for sample in (): ...",
        "match 1:\n    case 1:\n        def sample(ctx): ...",
        "from json import dumps as sample",
        "import json as sample",
        "from json import *",
        "def __getattr__(name): ...",
        "@decorated\ndef sample(): ...",
        "def sample(): ...\ndef sample(ctx): ...",
        "import json, os.path\ndef sample(ctx): ...",
        "try:\n    import nosuchpackage\nexcept ImportError: ...\ndef sample(ctx): ...",
        "if False:\n    import nosuchpackage\ndef sample(ctx): ...",
        "def sample(ctx):\n    import nosuchpackage",
        "def sample(ctx): return '\\d'",
    ],
)
def test_a_name_that_an_import_would_define_is_accepted(check: Check, text: str) -> None:
    write("jobs/steps.py", text)

    assert check("./steps.py:sample") == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def smaple(ctx): ...", "./steps.py defines no 'sample' at its top level (did you mean 'smaple'?)"),
        ("def f(ctx): ...\ndef g(ctx): ...", "./steps.py defines no 'sample' at its top level; its functions: f, g"),
        ("", "./steps.py defines no 'sample' at its top level; its functions: none"),
        ("class A:\n    def sample(self): ...", "./steps.py defines no 'sample' at its top level; its functions: none"),
        ("def f(ctx):\n    def sample(): ...", "./steps.py defines no 'sample' at its top level; its functions: f"),
        ("sample: object", "./steps.py defines no 'sample' at its top level; its functions: none"),
        ("async def sample(ctx): ...", "'sample' is async: steps are plain functions, write 'def sample'"),
        ("sample = 5", "'sample' of ./steps.py is a constant, not a function"),
        ("def sample(): ...", "'sample' of ./steps.py must take exactly one argument, its context"),
        ("def sample(a, b): ...", "'sample' of ./steps.py must take exactly one argument, its context"),
        ("def sample(ctx, *, b): ...", "'sample' of ./steps.py must take exactly one argument, its context"),
        (
            "import json\nfrom transformerz.x import y\ndef sample(ctx): ...",
            "./steps.py imports 'transformerz', which is not installed",
        ),
        (
            "import jobs_beside\ndef sample(ctx): ...",
            (
                "./steps.py imports 'jobs_beside', which is not installed: "
                "a file of steps cannot import the files beside it, only installed packages"
            ),
        ),
        (
            "from . import x\ndef sample(ctx): ...",
            "./steps.py has a relative import, which only works inside a package",
        ),
    ],
)
def test_what_no_worker_could_call_is_told(check: Check, text: str, fault: str) -> None:
    write("jobs/steps.py", text)
    write("jobs/jobs_beside.py", "")

    assert check("./steps.py:sample") == [fault]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "def sample(ctx):\n    retrun 1\n",
            "jobs/steps.py:2:12: invalid syntax (named by steps.s.run of jobs/a.yaml)",
        ),
        ("def sample(ctx:\n", "jobs/steps.py:1:11: '(' was never closed (named by steps.s.run of jobs/a.yaml)"),
    ],
)
def test_a_syntax_error_is_told_at_its_own_place(check: Check, text: str, fault: str) -> None:
    write("jobs/steps.py", text)

    assert check("./steps.py:sample") == [fault]


def test_a_syntax_error_of_a_module_is_told_in_its_file(check: Check, tmp_path: Path) -> None:
    write("package/steps.py", "def sample(ctx) return 1")

    assert check("package.steps:sample") == [
        f"{tmp_path}/package/steps.py:1:17: expected ':' (named by steps.s.run of jobs/a.yaml)"
    ]


def test_a_file_that_the_disk_does_not_give_is_told(check: Check) -> None:
    Path("jobs/steps.py").symlink_to("/proc/self/mem")

    assert check("./steps.py:sample") == [
        "jobs/steps.py: cannot be read: Input/output error (named by steps.s.run of jobs/a.yaml)"
    ]


@pytest.mark.parametrize(
    "content",
    [b"x = '\xff'\n", b"x = '\0'\n", b"# coding: nonsense\n", b"x = " + b"(" * 5000, b"x = " + b"-" * 10**5 + b"1"],
)
def test_a_file_that_is_no_python_is_one_fault(check: Check, content: bytes) -> None:
    Path("jobs/steps.py").write_bytes(content)

    (fault,) = check("./steps.py:sample")

    assert fault.startswith("jobs/steps.py")
    assert fault.endswith("(named by steps.s.run of jobs/a.yaml)")


@pytest.mark.parametrize(
    ("reference", "fault"),
    [
        ("./stepz.py:sample", "no file './stepz.py' in jobs (did you mean './steps.py'?)"),
        ("./other/x.py:sample", "no file './other/x.py' in jobs"),
        ("./steps:sample", "'./steps' is no Python file: its name must end in '.py'"),
        (f"./{'x' * 300}.py:sample", f"no file './{'x' * 300}.py' in jobs"),
        ("steps:sample", "no module 'steps' is installed (did you mean './steps.py', the file beside the spec?)"),
        ("nosuchpackage.x:sample", "no module 'nosuchpackage' is installed"),
        ("package.steqs:sample", "package 'package' has no module 'steqs' (did you mean 'steps'?)"),
        ("package.steps.x:sample", "'package.steps' is no package: it has no module 'x'"),
        ("package.steps:smaple", "package.steps defines no 'smaple' at its top level (did you mean 'sample'?)"),
        ("package.steps:Thing.run", "package.steps defines no 'Thing.run' at its top level; its functions: sample"),
        ("a b:sample", "'a b' is neither a module nor a file: write './file.py' for a file beside the spec"),
        ("__main__:sample", "no module '__main__' is installed"),
        (":sample", "expected 'package.module:function' or './file.py:function', got the text ':sample'"),
        ("steps.py", "expected 'package.module:function' or './file.py:function', got the text 'steps.py'"),
    ],
)
def test_a_place_where_nothing_is_is_told(check: Check, reference: str, fault: str) -> None:
    write("jobs/steps.py", "def sample(ctx): ...")
    write("package/__init__.py", "")
    write("package/steps.py", "def sample(ctx): ...")

    assert check(reference) == [fault]


def test_modules_of_every_sort_are_found_without_being_imported(check: Check) -> None:
    write("package/__init__.py", "raise SystemExit('imported')\ndef top(ctx): ...")
    write("package/deep/steps.py", "raise SystemExit('imported')\ndef sample(ctx): ...")
    write("single.py", "raise SystemExit('imported')\ndef sample(ctx): ...")

    for reference in ("package:top", "package.deep.steps:sample", "single:sample", "math:sqrt"):
        assert check(reference) == []
    assert not {"package", "single"} & sys.modules.keys()


def test_a_file_is_found_from_the_spec_and_named_in_full(check: Check, tmp_path: Path) -> None:
    write("jobs/steps.py", "def sample(ctx): ...")
    write("steps.py", "")
    assert check("./steps.py:sample") == []

    (job,) = load_jobs([Path("jobs/a.yaml")])

    assert job.steps[0].run == f"{tmp_path}/jobs/steps.py:sample"
    assert check(f"{tmp_path}/jobs/../jobs/steps.py:sample") == []


def test_a_trouble_of_one_file_is_told_once_for_all_steps(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("import nosuchpackage\ndef a(ctx): ...\ndef b(ctx): ...")
    (tmp_path / "broken.py").write_text("def a(ctx:")
    spec = tmp_path / "a.yaml"
    steps = "".join(
        f"  {f}{n}: {{kind: task, pool: cpu, run: './{f}.py:{n}'}}\n" for f in ("steps", "broken") for n in "ab"
    )
    spec.write_text(f"version: 1\njob: a\niterations: 1\nsteps:\n{steps}")

    with pytest.raises(SpecError) as caught:
        load_jobs([spec])

    assert [fault.path for fault in caught.value.faults] == ["steps.stepsa.run", ""]


def test_a_missing_extra_is_named_for_a_ready_step(tmp_path: Path) -> None:
    spec = tmp_path / "a.yaml"
    spec.write_text(
        "version: 1\njob: a\niterations: 1\nsteps: {s: {kind: task, pool: cpu, run: 'dagrl.recipes.grpo:sample'}}\n"
    )
    program = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder"] + [
    type("WithoutTorch", (), {"find_spec": staticmethod(lambda name, path=None, target=None:
        None if name.partition(".")[0] in {"torch", "transformers"} else PathFinder.find_spec(name, path, target))})
]
"""
    program = (
        "from importlib.machinery import PathFinder\n"
        + program
        + (
            "from pathlib import Path\nfrom dagrl.spec import load_jobs\n"
            f"try:\n    load_jobs([Path({str(spec)!r})])\nexcept Exception as error:\n    print(error)\n"
            "print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))\n"
        )
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        (
            f"{spec}:4:41: steps.s.run: dagrl.recipes.grpo imports 'torch', which is not installed: "
            "pip install 'dagrl[recipes]'"
        ),
        (
            f"{spec}:4:41: steps.s.run: dagrl.recipes.grpo imports 'transformers', which is not installed: "
            "pip install 'dagrl[recipes]'"
        ),
        "[]",
    ]
