"""Jobs from Python: the same as from YAML, and importable by a worker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import dagrl
from dagrl.builder import Job
from dagrl.errors import SpecError, UsageError
from dagrl.model import Cluster, ExecutorSpec, StepKind
from dagrl.spec import load_jobs

SCRIPT = """
import dagrl

job = dagrl.Job("gcd", iterations=10, seed=7, params={"sizes": (1, 2)}, checkpoint={"every": 5})

@job.context(pool="train", memory="1GB")
def actor(build): ...

@job.context(pool="rollout", on_evict="discard")
def sampler(build): ...

@job.step(kind="sample", context=sampler, timeout="10m", expected_seconds=1.5)
def sample(ctx):
    return {"x": ctx}

@job.step(kind="reward", needs=[sample, "train@-1"], pool="cpu", name="score-it")
def reward(ctx): ...

@job.step(kind="train", needs=[reward], context="actor")
def train(ctx): ...

job.propagate(needs=[train], source=actor, target=sampler)
"""

SPEC = """\
version: 1
job: gcd
iterations: 10
seed: 7
params: {sizes: [1, 2]}
checkpoint: {every: 5}
contexts:
  actor: {build: "./script.py:actor", pool: train, memory: 1GB}
  sampler: {build: "./script.py:sampler", pool: rollout, on_evict: discard}
steps:
  sample: {kind: sample, run: "./script.py:sample", context: sampler, timeout: 10m, expected_seconds: 1.5}
  score-it: {kind: reward, run: "./script.py:reward", needs: [sample, train@-1], pool: cpu}
  train: {kind: train, run: "./script.py:train", needs: [score-it], context: actor}
  propagate: {kind: propagate, needs: [train], source: actor, target: [sampler]}
"""


def build(build: Any) -> None: ...
def other(build: Any) -> None: ...
def step(ctx: Any) -> None: ...
async def wrong(ctx: Any) -> None: ...


def run_python(*arguments: str, cwd: Path, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, input=stdin, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_a_script_makes_the_job_that_the_spec_makes(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"{SCRIPT}\nif __name__ == '__main__':\n    print(job.build())\n")
    (tmp_path / "a.yaml").write_text(SPEC)

    (job,) = load_jobs([tmp_path / "a.yaml"])

    assert run_python("script.py", cwd=tmp_path) == f"{job}\n"


def test_a_script_run_as_a_module_keeps_the_module_s_name(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "script.py").write_text(f"{SCRIPT}\nprint(job.build().steps[0].run)\n")

    assert run_python("-m", "package.script", cwd=tmp_path) == "package.script:sample\n"
    assert run_python("-c", "import package.script", cwd=tmp_path) == "package.script:sample\n"
    assert run_python("package/script.py", cwd=tmp_path) == f"{package}/script.py:sample\n"


def test_a_decorated_function_stays_the_same_plain_function() -> None:
    job = Job("a", iterations=1)

    assert job.context(pool="cpu")(build) is build
    assert job.step(kind="task", context=build)(step) is step
    assert job.build().steps[0].run in {f"{Path(__file__).absolute()}:step", "tests.test_builder:step"}


def test_one_function_can_make_several_contexts_by_name() -> None:
    job = Job("a", iterations=1)
    job.context(pool="cpu", name="one")(build)
    job.context(pool="cpu", name="two")(build)
    job.context(pool="cpu")(other)
    job.step(kind="train", context="one")(step)
    for name in ("two", "other"):
        job.step(kind="sample", name=f"with-{name}", context=name)(step)
    job.propagate(needs=["train"], source="one", target=["two", other])

    with pytest.raises(SpecError, match=r"^job 'a': steps.propagate.needs\[0\]: no step 'train'"):
        job.build()
    with pytest.raises(UsageError, match=r"^build is a context of job 'a' more than once: name one of one, two$"):
        job.step(kind="task", name="x", context=build)(step)


def test_faults_name_the_job_and_the_key_and_come_all_at_once() -> None:
    job = Job("a b", iterations=0, seeed=1)  # type: ignore[call-arg]
    job.context(pool="cpu", memory="much")(build)
    job.step(kind="tsk", needs=["stp"], context="bild")(step)
    job.step(kind="task", name="w", pool="cpu")(wrong)

    with pytest.raises(SpecError) as caught:
        job.build()

    assert str(caught.value).splitlines() == [
        "job 'a b': contexts.build.memory: expected a size in bytes, or like '512MiB' or '1GB', got the text 'much'",
        "job 'a b': iterations: expected a whole number of 1 or more, got 0",
        "job 'a b': job: expected a name of letters, digits, '.', '_' and '-', got the text 'a b'",
        "job 'a b': seeed: unknown key 'seeed' (did you mean 'seed'?)",
        "job 'a b': steps.step.context: no context 'bild' (did you mean 'build'?)",
        (
            "job 'a b': steps.step.kind: expected sample, reward, train, propagate or task, got the text 'tsk' "
            "(did you mean 'task'?)"
        ),
        "job 'a b': steps.step.needs[0]: no step 'stp' (did you mean 'step'?)",
        "job 'a b': steps.w.run: 'wrong' is async: steps are plain functions, write 'def wrong'",
    ]


def test_a_job_is_checked_against_a_cluster_where_one_is_given() -> None:
    job = Job("a", iterations=1)
    job.step(kind="task", pool="gpu")(step)

    assert job.build().name == "a"
    with pytest.raises(SpecError, match=r"^job 'a': steps.step.pool: the cluster has no pool 'gpu'; it has 'cpu'$"):
        job.build(Cluster((ExecutorSpec("cpu0", "cpu"),)))


def test_a_function_of_a_file_that_is_no_module_is_named_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "loose.py"
    file.write_text("def step(ctx): ...")
    spec = spec_from_file_location("some.odd.name", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["some.odd.name"] = module
    spec.loader.exec_module(module)
    job = Job("a", iterations=1)
    job.step(kind="task", pool="cpu")(module.step)

    assert job.build().steps[0].run == f"{file}:step"
    del sys.modules["some.odd.name"]


def test_params_are_copied_and_made_plain() -> None:
    sizes = [1, 2]
    job = Job("a", iterations=1, params={"kind": StepKind.TASK, "sizes": sizes, "nested": {"pair": (True, None)}})
    job.step(kind=StepKind.TASK, pool="cpu")(step)
    built = job.build()
    sizes.append(3)

    assert built.params == {"kind": "task", "sizes": [1, 2], "nested": {"pair": [True, None]}}
    assert type(built.params["kind"]) is str


def test_params_that_json_cannot_hold_are_told() -> None:
    endless: list[Any] = []
    endless.append(endless)
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    params = {"a": {1: 2}, "b": float("inf"), "c": {3}, "d": 10**5000, "e": endless, "f": deep, "g": [b"x"]}
    job = Job("a", iterations=1, params=params)
    job.step(kind="task", pool="cpu")(step)

    with pytest.raises(SpecError) as caught:
        job.build()

    plain = "expected text, a number, a boolean, a list or a mapping"
    assert str(caught.value).splitlines() == [
        "job 'a': params.a: a key must be text, got 1",
        "job 'a': params.b: expected a finite number, got inf",
        f"job 'a': params.c: {plain}, got a set",
        "job 'a': params.d: a number of 16610 bits is too long",
        "job 'a': params.e[0]: holds itself",
        f"job 'a': params.f{'[0]' * 62}: nested more than 64 levels deep",
        f"job 'a': params.g[0]: {plain}, got a bytes",
    ]


def inner() -> Callable[[Any], None]:
    def hidden(_: Any) -> None: ...

    return hidden


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda ctx: ctx, "<lambda> is not at the top level of a file, so a worker process cannot import it"),
        (inner(), "inner.<locals>.hidden is not at the top level of a file, so a worker process cannot import it"),
        (Job.build, "Job.build is not at the top level of a file, so a worker process cannot import it"),
        (len, "<built-in function len> is no function: a step is a plain function at the top level of a file"),
    ],
)
def test_a_function_that_a_worker_cannot_import_is_refused_at_once(function: Any, message: str) -> None:
    job = Job("a", iterations=1)

    with pytest.raises(UsageError) as in_step:
        job.step(kind="task", pool="cpu", name="x")(function)
    with pytest.raises(UsageError) as in_context:
        job.context(pool="cpu", name="x")(function)

    assert str(in_step.value) == str(in_context.value) == message


@pytest.mark.parametrize("arguments", [("-c", SCRIPT), ("-",)])
def test_a_function_typed_at_a_prompt_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    told = run_python(*arguments, cwd=tmp_path, stdin=SCRIPT)

    assert told.splitlines()[-1] == (
        "dagrl.errors.UsageError: actor stands in no file, so a worker process cannot import it: "
        "write it to a .py file, a prompt or a notebook has none"
    )


def test_what_is_no_step_of_the_job_cannot_be_needed() -> None:
    job = Job("a", iterations=1)

    with pytest.raises(UsageError, match=r"^step is not a step of job 'a'$"):
        job.step(kind="task", needs=[step], pool="cpu", name="x")(step)
    with pytest.raises(UsageError, match=r"^build is not a context of job 'a'$"):
        job.propagate(source=build, target="x")
    with pytest.raises(UsageError, match=r"^expected a list of functions or names, got 'step'$"):
        job.step(kind="task", needs="step", pool="cpu")(step)


def test_a_name_can_be_taken_once() -> None:
    job = Job("a", iterations=1)
    job.step(kind="task", pool="cpu")(step)

    with pytest.raises(UsageError, match=r"^'step' is a step of job 'a' already: give this one another name"):
        job.step(kind="task", pool="cpu")(step)


def test_a_job_prints_what_it_has() -> None:
    job = Job("a", iterations=1)
    job.step(kind="task", pool="cpu")(step)

    assert repr(job) == "<dagrl.Job 'a': 0 contexts, 1 steps>"


def test_making_a_job_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        f"{SCRIPT}\nimport sys\n"
        "print([name for name in ('torch', 'numpy', 'networkx', 'pydantic', 'yaml', 'textual') if name in sys.modules])\n"
        "job.build()\n"
        "print([name for name in ('torch', 'numpy', 'textual') if name in sys.modules])\n"
    )

    assert run_python("script.py", cwd=tmp_path) == "[]\n[]\n"


def test_the_package_exports_what_a_script_needs() -> None:
    for name in dagrl.__all__:
        assert getattr(dagrl, name) is not None
    assert dagrl.Job is Job
    assert set(dagrl.__all__) <= set(dir(dagrl))
    with pytest.raises(AttributeError, match="module 'dagrl' has no attribute 'Jobb'"):
        dagrl.Jobb  # noqa: B018
