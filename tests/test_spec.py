"""Spec and cluster files: what they may say, and one clear line with a place for whatever is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.errors import SpecError
from dagrl.model import (
    Cluster,
    Context,
    Eviction,
    ExecutorSpec,
    Job,
    Need,
    OnEvict,
    Step,
    StepKind,
)
from dagrl.spec import example_spec, job_from_mapping, load_cluster, load_jobs, load_workload
from dagrl.spec.schema import CheckpointSpec, ContextSpec, JobSpec, StepSpec

STEPS = """
def build(build): ...
def sample(ctx): ...
def reward(ctx): ...
def train(ctx): ...
"""

GOOD = """\
version: 1
job: gcd
iterations: 100
contexts:
  actor: {build: "./steps.py:build", pool: train}
  sampler: {build: "./steps.py:build", pool: rollout}
steps:
  sample: {kind: sample, run: "./steps.py:sample", context: sampler}
  reward: {kind: reward, run: "./steps.py:reward", needs: [sample], pool: cpu}
  train: {kind: train, run: "./steps.py:train", needs: [reward], context: actor}
  propagate: {kind: propagate, needs: [train], source: actor, target: sampler}
"""

EVERY_KEY = """\
version: 1
job: gcd.every-key_2
iterations: 7
max_staleness: 2
seed: 5
priority: -3
weight: 2
threads: 4
params: {task: gcd, lr: 1e-3, nested: [1, {on: true, off: null}]}
checkpoint: {every: 50}
contexts:
  actor: {build: "./steps.py:build", pool: train, memory: 512MiB, on_evict: offload}
  sampler: {build: "./steps.py:build", pool: rollout, memory: 1.5GB, on_evict: discard}
steps:
  sample: {kind: rollout, run: "./steps.py:sample", context: sampler, timeout: 1h30m, expected_seconds: 12}
  reward: {kind: verify, run: "./steps.py:reward", needs: [sample, train@-1], pool: cpu, timeout: 2.5}
  train: {kind: update, run: "./steps.py:train", needs: [reward], context: actor, pool: train, timeout: 1d2h3m4.5s}
  propagate: {kind: refit, needs: [train], source: actor, target: [sampler]}
"""

CLUSTER = Cluster(
    (ExecutorSpec("rollout", "rollout", memory_bytes=1000), ExecutorSpec("train", "train"), ExecutorSpec("cpu", "cpu"))
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file beside `steps.py` and gives its path; tests run in that directory, so places are short."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.py").write_text(STEPS)

    def write(text: str, name: str = "a.yaml") -> Path:
        Path(name).write_text(text)
        return Path(name)

    return write


def test_a_spec_becomes_a_job_with_all_that_it_says(write: Write, tmp_path: Path) -> None:
    steps = f"{tmp_path}/steps.py"

    assert load_jobs([write(EVERY_KEY)]) == (
        Job(
            name="gcd.every-key_2",
            iterations=7,
            max_staleness=2,
            seed=5,
            priority=-3,
            weight=2.0,
            threads=4,
            params={"task": "gcd", "lr": 0.001, "nested": [1, {"on": True, "off": None}]},
            checkpoint_every=50,
            contexts=(
                Context("actor", f"{steps}:build", "train", OnEvict.OFFLOAD, 512 * 2**20),
                Context("sampler", f"{steps}:build", "rollout", OnEvict.DISCARD, 1_500_000_000),
            ),
            steps=(
                Step(
                    "sample",
                    StepKind.SAMPLE,
                    "rollout",
                    f"{steps}:sample",
                    "sampler",
                    timeout_seconds=5400,
                    expected_seconds=12,
                ),
                Step(
                    "reward",
                    StepKind.REWARD,
                    "cpu",
                    f"{steps}:reward",
                    needs=(Need("sample"), Need("train", -1)),
                    timeout_seconds=2.5,
                ),
                Step(
                    "train",
                    StepKind.TRAIN,
                    "train",
                    f"{steps}:train",
                    "actor",
                    needs=(Need("reward"),),
                    timeout_seconds=93784.5,
                ),
                Step(
                    "propagate",
                    StepKind.PROPAGATE,
                    "train",
                    None,
                    "actor",
                    needs=(Need("train"),),
                    targets=("sampler",),
                ),
            ),
        ),
    )


def test_what_is_left_out_has_its_default(write: Write) -> None:
    (job,) = load_jobs([write(GOOD)])

    assert (job.max_staleness, job.seed, job.priority, job.weight, job.threads) == (0, 0, 0, 1.0, 1)
    assert job.params == {}
    assert job.checkpoint_every is None
    assert {context.on_evict for context in job.contexts} == {OnEvict.OFFLOAD}
    assert {context.memory_bytes for context in job.contexts} == {None}


def test_an_empty_optional_key_counts_as_left_out(write: Write) -> None:
    text = GOOD.replace("pool: cpu", "pool: cpu, timeout: , context: null")

    assert load_jobs([write(text + "params:\n")]) == load_jobs([write(GOOD, "b.yaml")])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5),
        ("0.25", 0.25),
        ("90s", 90),
        ("1.5s", 1.5),
        ("10m", 600),
        ("1h30m", 5400),
        ("2d", 172800),
        ("1d1s", 86401),
    ],
)
def test_a_duration_is_seconds_or_text_with_units(write: Write, text: str, seconds: float) -> None:
    (job,) = load_jobs([write(GOOD.replace("pool: cpu", f"pool: cpu, timeout: {text}"))])

    assert job.steps[1].timeout_seconds == seconds


@pytest.mark.parametrize(
    "text", ["0", "0s", "''", "1h30", "1m1h", "1 h", "-5s", "1e300", "99999999999d", "1.5h", "true"]
)
def test_a_duration_is_nothing_else(write: Write, text: str) -> None:
    with pytest.raises(SpecError, match="expected a duration in seconds"):
        load_jobs([write(GOOD.replace("pool: cpu", f"pool: cpu, timeout: {text}"))])


@pytest.mark.parametrize(
    ("text", "size"),
    [("7", 7), ("7B", 7), ("1kB", 1000), ("1 KB", 1000), ("1.5KiB", 1536), ("2MB", 2 * 10**6), ("3gib", 3 * 2**30)],
)
def test_a_size_is_bytes_or_text_with_units(write: Write, text: str, size: int) -> None:
    (job,) = load_jobs([write(GOOD.replace("pool: train", f"pool: train, memory: {text}"))])

    assert job.contexts[0].memory_bytes == size


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "512M", "MiB", "1 2MB", "9999999999TiB", "0.1B", "true"])
def test_a_size_is_nothing_else(write: Write, text: str) -> None:
    with pytest.raises(SpecError, match="expected a size in bytes"):
        load_jobs([write(GOOD.replace("pool: train", f"pool: train, memory: {text}"))])


@pytest.mark.parametrize(
    ("kind", "alias"),
    [("sample", "generate"), ("sample", "rollout"), ("reward", "score"), ("reward", "verify"), ("train", "update")],
)
def test_a_kind_has_the_names_that_people_know(write: Write, kind: str, alias: str) -> None:
    assert load_jobs([write(GOOD.replace(f"kind: {kind}", f"kind: {alias}"))]) == load_jobs([write(GOOD)])


@pytest.mark.parametrize("alias", ["update_weights", "weight_sync", "refit"])
def test_a_propagate_has_the_names_that_people_know(write: Write, alias: str) -> None:
    assert load_jobs([write(GOOD.replace("kind: propagate", f"kind: {alias}"))]) == load_jobs([write(GOOD)])


def test_a_spec_that_fits_its_cluster_is_a_job(write: Write) -> None:
    cluster = Path("cluster.yaml")
    cluster.write_text("version: 1\nexecutors: {rollout: {pool: rollout}, train: {pool: train}, cpu: {pool: cpu}}\n")

    jobs, loaded = load_workload([write(GOOD)], cluster)

    assert jobs == load_jobs([write(GOOD)])
    assert loaded == load_cluster(cluster)


def test_the_example_is_valid_and_explains_every_key() -> None:
    example = yaml.safe_load(example_spec())
    job = job_from_mapping(example, "example", Path.cwd(), None)

    assert job.name == "gcd"
    for section in (JobSpec, ContextSpec, StepSpec, CheckpointSpec):
        assert all(f"{key}:" in example_spec() for key in section.model_fields)


SECTIONS = yaml.safe_load(EVERY_KEY)
WORDS = ["gcd", "sample", "sample@-1", "actor", "./steps.py:train", "1h", "1GB", "propagate"]
ODD: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(WORDS)
    | st.builds(list)
    | st.builds(dict)
    | st.lists(st.sampled_from(WORDS), max_size=2)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `steps.py` in it."""
    base = tmp_path_factory.mktemp("mutated")
    (base / "steps.py").write_text(STEPS)
    return base


def mutated(data: Any, choose: Callable[[Any], Any]) -> None:
    """Walk down to some mapping or list, and change, remove or add one entry."""
    while isinstance(data, dict | list) and data:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        key = choose(st.sampled_from(keys))
        inner = data[key]
        if not isinstance(inner, dict | list) or not inner or choose(st.booleans()):
            match choose(st.sampled_from(["change", "remove", "add"])):
                case "change":
                    data[key] = choose(ODD)
                case "remove":
                    del data[key]
                case _ if isinstance(data, dict):
                    data[choose(st.text(max_size=5))] = choose(ODD)
                case _:
                    data.append(choose(ODD))
            return
        data = inner


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_mutated_spec_is_a_job_or_a_spec_error(folder: Path, data: st.DataObject) -> None:
    spec = json.loads(json.dumps(SECTIONS))
    for _ in range(data.draw(st.integers(1, 4))):
        mutated(spec, data.draw)
    try:
        job = job_from_mapping(spec, "job 'x'", folder, CLUSTER)
    except SpecError as error:
        assert all(str(fault).isprintable() for fault in error.faults)  # noqa: PT017
        assert error.faults  # noqa: PT017
    else:
        assert job.steps


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_spec_with_text_cut_or_added_is_a_job_or_a_spec_error(folder: Path, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(EVERY_KEY)))
    end = data.draw(st.integers(begin, min(begin + 30, len(EVERY_KEY))))
    noise = data.draw(
        st.text(max_size=5) | st.sampled_from([": ", "- ", "\n", "&a ", "*a", "!x ", "{", "}", "@-1", "1e9"])
    )
    path = folder / "mutated.yaml"
    path.write_bytes((EVERY_KEY[:begin] + noise + EVERY_KEY[end:]).encode("utf-8", "surrogatepass"))
    try:
        assert load_jobs([path], CLUSTER)
    except SpecError as error:
        assert all(str(fault).isprintable() for fault in error.faults)  # noqa: PT017


def test_a_cluster_file_becomes_executors(write: Write) -> None:
    path = write(
        "version: 1\n"
        "eviction: eager\n"
        "executors:\n"
        "  rollout: {pool: rollout, device: 'cuda:1', memory: 3MiB, kind: local}\n"
        "  cpu: {pool: cpu, count: 2}\n"
        "  train: {pool: train, device: cuda, count: 2}\n"
    )

    assert load_cluster(path) == Cluster(
        (
            ExecutorSpec("rollout", "rollout", "cuda:1", "local", 3 * 2**20),
            ExecutorSpec("cpu0", "cpu"),
            ExecutorSpec("cpu1", "cpu"),
            ExecutorSpec("train0", "train", "cuda:0"),
            ExecutorSpec("train1", "train", "cuda:1"),
        ),
        Eviction.EAGER,
    )


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["a.yaml:1:1: the file is empty"]),
        ("- a\n", ["a.yaml:1:1: expected a mapping, got a list"]),
        ("version: 1\n", ["a.yaml:1:1: missing key 'executors'"]),
        ("version: 1\nexecutors: {}\n", ["a.yaml:2:1: executors: no executors: a cluster needs at least one"]),
        ("version: 1\nexecutors: {a: {}}\n", ["a.yaml:2:13: executors.a: missing key 'pool'"]),
        ("version: 1\nexecutors: [a]\n", ["a.yaml:2:12: executors: expected a mapping of names to executors, got a list"]),
        ("version: 1\nexecutors: {a: {pol: x, device: GPU, count: 0}}\nevicton: lazy\n", [
            "a.yaml:2:13: executors.a: missing key 'pool'",
            "a.yaml:2:17: executors.a.pol: unknown key 'pol' (did you mean 'pool'?)",
            "a.yaml:2:33: executors.a.device: expected a device like 'cpu', 'cuda' or 'cuda:0', got the text 'GPU'",
            "a.yaml:2:45: executors.a.count: expected a whole number from 1 to 1024, got 0",
            "a.yaml:3:1: evicton: unknown key 'evicton' (did you mean 'eviction'?)",
        ]),
        ("version: 1\neviction: lasy\nexecutors: {a: {pool: x}}\n", [
            "a.yaml:2:11: eviction: expected lazy or eager, got the text 'lasy' (did you mean 'lazy'?)",
        ]),
        ("version: 1\nexecutors:\n  a1: {pool: x}\n  a: {pool: x, count: 2}\n", [
            "a.yaml:4:3: executors.a: makes an executor 'a1', as 'a1' does",
        ]),
    ],
)  # fmt: skip
def test_a_wrong_cluster_file_is_refused_at_its_places(write: Write, text: str, faults: list[str]) -> None:
    with pytest.raises(SpecError) as caught:
        load_cluster(write(text))

    assert str(caught.value).splitlines() == faults


def test_a_job_and_a_cluster_that_were_mistaken_for_each_other_are_told_in_one_line(write: Write) -> None:
    job, cluster = write(GOOD), write("version: 1\nexecutors: {a: {pool: x}}\n", "cluster.yaml")

    with pytest.raises(SpecError) as caught:
        load_workload([cluster], job)

    assert str(caught.value).splitlines() == [
        "a.yaml:1:1: this is a job, not a cluster file: it declares no executors",
        "cluster.yaml:1:1: this is a cluster file, not a job: name it with --cluster",
    ]


def test_mistakes_in_cluster_and_specs_are_told_together(write: Write) -> None:
    with pytest.raises(SpecError) as caught:
        load_workload([write(GOOD.replace("100", "-1"))], write("version: 1\n", "cluster.yaml"))

    assert str(caught.value).splitlines() == [
        "a.yaml:3:13: iterations: expected a whole number of 1 or more, got -1",
        "cluster.yaml:1:1: missing key 'executors'",
    ]
