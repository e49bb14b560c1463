"""Recipes and matrices: what they bring, and where a fault in it is told."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagrl.errors import SpecError
from dagrl.model import Job
from dagrl.spec import job_from_mapping, load_jobs

STRANGER = """
RECIPE = {
    "contexts": {"model": {"build": "strangers:build", "pool": "train"}},
    "steps": {
        "act": {"kind": "sample", "run": "strangers:act", "context": "model", "timeout": 60},
        "learn": {"kind": "train", "run": "strangers:learn", "context": "model", "needs": ("act",)},
    },
    "params": {"learning_rate": 1e-3, "task": "chess"},
}
NUMBER = 5
UNKNOWN = {"stops": {}}
FAULTY = {"steps": {"act": {"kind": "sample", "run": "strangers:acct", "pool": "cpu", "timeout": -1}}}
NOT_JSON = {"steps": {"act": {"kind": "task", "run": "strangers:act", "pool": "cpu"}}, "params": {"x": object, "y": float("nan")}}

def build(build): ...
def act(ctx): ...
def learn(ctx): ...
"""

HEAD = "version: 1\njob: a\niterations: 2\n"

Load = Callable[[str], tuple[Job, ...]]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Loads a spec; a stranger's package with recipes is installed, as pip would leave it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("strangers.py").write_text(STRANGER)
    info = Path("strangers-1.0.dist-info")
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    names = ["RECIPE", "NUMBER", "UNKNOWN", "FAULTY", "NOT_JSON", "GONE"]
    entries = "".join(f"strange-{name.lower()} = strangers:{name}\n" for name in names)
    info.joinpath("entry_points.txt").write_text(f"[dagrl.recipes]\n{entries}")

    def load(text: str) -> tuple[Job, ...]:
        Path("a.yaml").write_text(HEAD + text)
        return load_jobs([Path("a.yaml")])

    yield load
    sys.modules.pop("strangers", None)


def faults_of(load: Load, text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load(text)
    return str(caught.value).splitlines()


def test_a_recipe_brings_contexts_steps_and_params(load: Load) -> None:
    (job,) = load("recipe: strange-recipe\n")

    assert [step.name for step in job.steps] == ["act", "learn"]
    assert [context.name for context in job.contexts] == ["model"]
    assert job.params == {"learning_rate": 0.001, "task": "chess"}
    assert job.steps[0].timeout_seconds == 60


def test_what_the_spec_says_itself_wins_key_by_key(load: Load) -> None:
    (job,) = load(
        "recipe: strange-recipe\n"
        "params: {task: go, more: 1}\n"
        "contexts: {model: {pool: big}}\n"
        "steps: {act: {timeout: null}, learn: {expected_seconds: 3}, log: {kind: task, run: 'strangers:act', pool: cpu}}\n"
    )

    assert job.params == {"learning_rate": 0.001, "task": "go", "more": 1}
    assert [(step.name, step.pool, step.timeout_seconds, step.expected_seconds) for step in job.steps] == [
        ("act", "big", None, None),
        ("learn", "big", None, 3),
        ("log", "cpu", None, None),
    ]


def test_null_takes_out_a_step_of_the_recipe(load: Load) -> None:
    (job,) = load("recipe: strange-recipe\nsteps: {learn: null}\n")

    assert [step.name for step in job.steps] == ["act"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (
            "recipe: strange-recipee\nsteps: {x: {kind: task, run: 'strangers:act', context: model, needs: [act]}}\n",
            [
                (
                    "a.yaml:4:9: recipe: expected an installed recipe (...), got the text 'strange-recipee' "
                    "(did you mean 'strange-recipe'?)"
                )
            ],
        ),
        ("recipe: [1]\n", ["a.yaml:4:9: recipe: expected an installed recipe (...), got a list"]),
        ("recipe: !x y\n", ["a.yaml:4:9: recipe: the tag '!x' is refused: a spec is plain data"]),
        (
            "recipe: strange-gone\n",
            [
                (
                    "a.yaml:4:9: recipe: recipe 'strange-gone' cannot be loaded: "
                    "AttributeError: module 'strangers' has no attribute 'GONE'"
                )
            ],
        ),
        (
            "recipe: strange-number\n",
            ["a.yaml:4:9: recipe: recipe 'strange-number' is no mapping of contexts, steps, params to mappings"],
        ),
        (
            "recipe: strange-unknown\n",
            ["a.yaml:4:9: recipe: recipe 'strange-unknown' is no mapping of contexts, steps, params to mappings"],
        ),
        (
            "recipe: strange-faulty\n",
            [
                "a.yaml:4:9: recipe: steps.act.run: strangers defines no 'acct' at its top level (did you mean 'act'?)",
                (
                    "a.yaml:4:9: recipe: steps.act.timeout: expected a duration in seconds, or like '90s', '10m' or '1h30m', "
                    "got -1"
                ),
            ],
        ),
        (
            "recipe: strange-not_json\n",
            [
                "a.yaml:4:9: recipe: params.x: expected text, a number, a boolean, a list or a mapping, got a type",
                "a.yaml:4:9: recipe: params.y: expected a finite number, got nan",
            ],
        ),
        (
            "recipe: strange-recipe\nsteps:\n  learn: {needs: [akt], pool: cpu}\n",
            [
                "a.yaml:6:19: steps.learn.needs[0]: no step 'akt' (did you mean 'act'?)",
                "a.yaml:6:31: steps.learn.pool: the context 'model' is in pool 'train', so the step cannot run in 'cpu'",
            ],
        ),
        (
            "recipe: strange-recipe\nsteps: [act]\n",
            ["a.yaml:5:8: steps: expected a mapping of names to steps, got a list"],
        ),
    ],
)
def test_a_fault_of_a_recipe_is_told_at_the_key_that_names_it(load: Load, text: str, faults: list[str]) -> None:
    assert [re.sub(r"recipe \([^)]*\)", "recipe (...)", line) for line in faults_of(load, text)] == faults


STEPS = "steps: {act: {kind: task, run: 'strangers:act', pool: cpu}}\n"


def test_a_matrix_makes_a_job_for_each_combination(load: Load) -> None:
    jobs = load(STEPS + "params: {x: 1}\nmatrix: {seed: [1, 2], params.learning_rate: [1e-3, 0.25]}\n")

    assert [(job.name, job.seed, job.params) for job in jobs] == [
        ("a-seed1-learning_rate0.001", 1, {"x": 1, "learning_rate": 0.001}),
        ("a-seed1-learning_rate0.25", 1, {"x": 1, "learning_rate": 0.25}),
        ("a-seed2-learning_rate0.001", 2, {"x": 1, "learning_rate": 0.001}),
        ("a-seed2-learning_rate0.25", 2, {"x": 1, "learning_rate": 0.25}),
    ]


@pytest.mark.parametrize(
    ("matrix", "names"),
    [
        ("{params.model.size: [10, 20]}", ["a-size10", "a-size20"]),
        ("{params.a.lr: [1], params.b.lr: [2]}", ["a-params_a_lr1-params_b_lr2"]),
        ("{params.text: ['one two', on, null, -1.5, true]}", ["a-textone_two", "a-texton", "a-textnull", "a-text-1.5", "a-texttrue"]),
        ("{params.layers: [[8, 8], {a: 1}]}", ["a-layers8_8", "a-layersa_1"]),
        ("{params.text: ['a b', a_b]}", ["a-1", "a-2"]),
        (f"{{params.text: [{'x' * 200}, b]}}", ["a-1", "a-2"]),
        ("{params.n: [1, '1']}", ["a-1", "a-2"]),
    ],
)  # fmt: skip
def test_the_jobs_of_a_matrix_have_readable_and_unique_names(load: Load, matrix: str, names: list[str]) -> None:
    assert [job.name for job in load(STEPS + f"matrix: {matrix}\n")] == names


def test_a_matrix_can_vary_what_a_recipe_brings(load: Load) -> None:
    jobs = load("recipe: strange-recipe\nmatrix: {params.task: [chess, go]}\n")

    assert [job.params["task"] for job in jobs] == ["chess", "go"]


@pytest.mark.parametrize(
    ("matrix", "faults"),
    [
        ("[1]", ["a.yaml:4:9: matrix: expected a mapping of keys to lists of values, got a list"]),
        ("{}", ["a.yaml:4:9: matrix: expected a mapping of keys to lists of values, got a mapping"]),
        ("{seed: 1}", ["a.yaml:4:16: matrix.seed: expected a list of values, got 1"]),
        ("{seed: []}", ["a.yaml:4:16: matrix.seed: expected a list of values, got a list"]),
        ("{sed: [1]}", ["a.yaml:4:10: matrix.sed: cannot vary 'sed' (did you mean 'seed'?)"]),
        ("{job: [1]}", ["a.yaml:4:10: matrix.job: cannot vary 'job'; VARIED"]),
        ("{params: [1]}", ["a.yaml:4:10: matrix.params: cannot vary 'params'; VARIED"]),
        ("{params..a: [1]}", ["a.yaml:4:10: matrix.params..a: cannot vary 'params..a'; VARIED"]),
        ("{params.: [1]}", ["a.yaml:4:10: matrix.params.: cannot vary 'params.'; VARIED"]),
        (
            "{params.a: [1], params.a.b: [1]}",
            ["a.yaml:4:10: matrix.params.a: cannot vary 'params.a' and a part of it"],
        ),
        ("{seed: [1, 2, 1]}", ["a.yaml:4:23: matrix.seed[2]: the value stands twice"]),
        (
            f"{{seed: {list(range(40))}, priority: {list(range(40))}}}",
            ["a.yaml:4:1: matrix: makes 1600 jobs; at most 1000 are allowed"],
        ),
        (
            "{seed: [1, -1, x]}",
            [
                "a.yaml:4:20: matrix.seed[1]: seed: expected a whole number from 0 to 2**63 - 1, got -1",
                "a.yaml:4:24: matrix.seed[2]: seed: expected a whole number from 0 to 2**63 - 1, got the text 'x'",
            ],
        ),
        ("{seed: [1, .nan]}", ["a.yaml:4:20: matrix.seed[1]: expected a finite number, got .nan"]),
        ("!x {seed: [1]}", ["a.yaml:4:9: matrix: the tag '!x' is refused: a spec is plain data"]),
    ],
)
def test_a_fault_of_a_matrix_is_told_where_it_stands(load: Load, matrix: str, faults: list[str]) -> None:
    varied = "a matrix varies iterations, max_staleness, seed, priority, weight, threads and params.NAME"

    assert faults_of(load, f"matrix: {matrix}\n{STEPS}") == [fault.replace("VARIED", varied) for fault in faults]


def test_a_fault_beside_a_matrix_is_told_once(load: Load) -> None:
    text = "matrix: {seed: [1, 2, 3]}\n" + STEPS.replace("cpu", "cpu, needs: [b]")

    assert faults_of(load, text) == ["a.yaml:5:68: steps.act.needs[0]: no step 'b'; steps: act"]


def test_a_job_from_python_takes_a_recipe_and_no_matrix(load: Load) -> None:
    assert load("recipe: strange-recipe\n")
    data = {"version": 1, "job": "a", "iterations": 2, "recipe": "strange-recipe"}

    assert job_from_mapping(data, "job 'a'", Path()) == load("recipe: strange-recipe\n")[0]
    with pytest.raises(SpecError, match=r"^job 'a': matrix: a job from Python is one job: make many in a loop$"):
        job_from_mapping({**data, "matrix": {"seed": [1]}}, "job 'a'", Path())


def test_a_discarding_context_of_a_recipe_is_one_of_the_job(load: Load) -> None:
    with pytest.raises(SpecError, match=r"a\.yaml:5:30: contexts\.model\.on_evict"):
        load("recipe: strange-recipe\ncontexts: {model: {on_evict: discard}}\n")
