"""Whatever is wrong in a spec is one clear line with its place, and all of them come at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dagrl.errors import SpecError
from dagrl.model import Cluster, ExecutorSpec
from dagrl.spec import load_jobs

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

CLUSTER = Cluster(
    (ExecutorSpec("rollout", "rollout", memory_bytes=999), ExecutorSpec("train", "train"), ExecutorSpec("cpu", "cpu"))
)

COUNT = "expected a whole number of 1 or more"
DURATION = "expected a duration in seconds, or like '90s', '10m' or '1h30m'"
SIZE = "expected a size in bytes, or like '512MiB' or '1GB'"
KIND = "expected sample, reward, train, propagate or task"
JOB_NAME = "expected a name of letters, digits, '.', '_' and '-'"
NAME = "expected a name of letters, digits, '_' and '-' that starts with a letter"
NEED = "expected a step's name, or 'name@-1' for the iteration before"
NO_POOL = "no pool: give the step a 'pool', or a 'context' that has one"
POOLS = "it has 'rollout', 'train', 'cpu'"
CIRCLE = "steps need each other in a circle: reward -> train -> reward; for the iteration before, write 'reward@-1'"

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


def faults_of(*paths: Path, cluster: Cluster | None = None) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load_jobs(paths, cluster)
    assert str(caught.value).splitlines() == [str(fault) for fault in caught.value.faults]
    return str(caught.value).splitlines()


def in_job(line: str) -> str:
    return f"job: gcd\n{line}"


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        (
            "iterations",
            "itertions",
            [
                "1:1: missing key 'iterations'",
                "3:1: itertions: unknown key 'itertions' (did you mean 'iterations'?)",
            ],
        ),
        (
            "pool: cpu",
            "poool: cpu",
            [f"9:3: steps.reward: {NO_POOL}", "9:69: steps.reward.poool: unknown key 'poool' (did you mean 'pool'?)"],
        ),
        (
            "pool: train",
            "pool: train, size: 3",
            ["5:51: contexts.actor.size: unknown key 'size'; known: build, pool, memory, on_evict"],
        ),
        (
            "job: gcd",
            in_job("checkpoint: {evry: 5}"),
            [
                "3:1: checkpoint: missing key 'every'",
                "3:14: checkpoint.evry: unknown key 'evry' (did you mean 'every'?)",
            ],
        ),
        ("job: gcd", in_job("job: gcd2"), ["3:1: job: the key stands twice, first on line 2"]),
        ("version: 1\n", "", ["1:1: missing key 'version'"]),
        ("kind: reward, ", "", ["9:3: steps.reward: missing key 'kind'"]),
    ],
)
def test_a_wrong_key_is_told(write: Write, old: str, new: str, faults: list[str]) -> None:
    assert faults_of(write(GOOD.replace(old, new, 1))) == [f"a.yaml:{fault}" for fault in faults]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("version: 1", "version: 2", "1:10: version: expected 1, the version that this dagrl reads, got 2"),
        ("iterations: 100", 'iterations: "5"', f"3:13: iterations: {COUNT}, got the text '5'"),
        ("iterations: 100", "iterations: 0", f"3:13: iterations: {COUNT}, got 0"),
        ("iterations: 100", "iterations: 1.0", f"3:13: iterations: {COUNT}, got 1.0"),
        ("iterations: 100", "iterations: true", f"3:13: iterations: {COUNT}, got true"),
        ("iterations: 100", "iterations:", f"3:12: iterations: {COUNT}, got nothing"),
        ("iterations: 100", "iterations: 2000000000", "3:13: iterations: expected at most 1000000000, got 2000000000"),
        (
            "job: gcd",
            in_job("max_staleness: -1"),
            "3:16: max_staleness: expected a whole number of 0 or more, got -1",
        ),
        ("job: gcd", in_job("weight: .nan"), "3:9: weight: expected a finite number, got .nan"),
        ("job: gcd", in_job("weight: 0"), "3:9: weight: expected a number above 0, got 0"),
        ("job: gcd", in_job("weight: 1e10"), "3:9: weight: expected at most 1000000000, got 10000000000.0"),
        ("job: gcd", in_job("weight: [1]"), "3:9: weight: expected a number above 0, got a list"),
        ("job: gcd", in_job("seed: on"), "3:7: seed: expected a whole number from 0 to 2**63 - 1, got the text 'on'"),
        ("job: gcd", in_job("params: [1]"), "3:9: params: expected a mapping of names to values, got a list"),
        ("job: gcd", in_job("checkpoint: 5"), "3:13: checkpoint: expected a mapping, got 5"),
        ("job: gcd", "job: 12", f"2:6: job: {JOB_NAME}, got 12"),
        ("job: gcd", "job: ../gcd", f"2:6: job: {JOB_NAME}, got the text '../gcd'"),
        ("job: gcd", f"job: {'x' * 101}", f"2:6: job: expected at most 100 characters, got the text '{'x' * 40}...'"),
        (
            "pool: train}",
            "pool: train, memory: 5 apples}",
            f"5:59: contexts.actor.memory: {SIZE}, got the text '5 apples'",
        ),
        (
            "pool: train}",
            "pool: train, on_evict: 5}",
            "5:61: contexts.actor.on_evict: expected offload or discard, got 5",
        ),
        (
            "pool: train}",
            "pool: train, on_evict: discrad}",
            (
                "5:61: contexts.actor.on_evict: expected offload or discard, got the text 'discrad' "
                "(did you mean 'discard'?)"
            ),
        ),
        (
            "pool: cpu",
            "pool: cpu, timeout: 10 minutes",
            f"9:89: steps.reward.timeout: {DURATION}, got the text '10 minutes'",
        ),
        ("pool: cpu", "pool: cpu, timeout: -1", f"9:89: steps.reward.timeout: {DURATION}, got -1"),
        (
            "kind: reward",
            "kind: rewrad",
            f"9:18: steps.reward.kind: {KIND}, got the text 'rewrad' (did you mean 'reward'?)",
        ),
        (
            "needs: [sample]",
            "needs: sample",
            "9:59: steps.reward.needs: expected a list of step names, got the text 'sample'",
        ),
        ("needs: [sample]", "needs: [sample@-2]", f"9:60: steps.reward.needs[0]: {NEED}, got the text 'sample@-2'"),
        (
            "target: sampler",
            "target: 5",
            "11:71: steps.propagate.target: expected a context's name or a list of names, got 5",
        ),
        ("target: sampler", "target: [5]", f"11:72: steps.propagate.target[0]: {NAME}, got 5"),
        (
            'run: "./steps.py:reward"',
            "run: reward",
            "9:31: steps.reward.run: expected 'package.module:function' or './file.py:function', got the text 'reward'",
        ),
        ("  propagate: {", "  5propagate: {", f"11:3: steps.5propagate: {NAME}, got the text '5propagate'"),
    ],
)
def test_a_wrong_value_is_told(write: Write, old: str, new: str, fault: str) -> None:
    assert faults_of(write(GOOD.replace(old, new, 1))) == [f"a.yaml:{fault}"]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "needs: [reward]",
            "needs: [rewrad]",
            "10:57: steps.train.needs[0]: no step 'rewrad' (did you mean 'reward'?)",
        ),
        (
            "needs: [reward]",
            "needs: [xyz]",
            "10:57: steps.train.needs[0]: no step 'xyz'; steps: sample, reward, train, propagate",
        ),
        ("needs: [reward]", "needs: [reward, reward]", "10:65: steps.train.needs[1]: 'reward' stands twice"),
        (
            "context: actor",
            "context: actr",
            "10:75: steps.train.context: no context 'actr' (did you mean 'actor'?)",
        ),
        ("source: actor", "source: actr", "11:56: steps.propagate.source: no context 'actr' (did you mean 'actor'?)"),
        (
            "target: sampler",
            "target: [sampler, sampl]",
            "11:81: steps.propagate.target[1]: no context 'sampl' (did you mean 'sampler'?)",
        ),
        (
            "target: sampler",
            "target: [sampler, sampler]",
            "11:81: steps.propagate.target[1]: 'sampler' stands twice",
        ),
        ("needs: [sample]", "needs: [train]", f"10:57: steps.train.needs[0]: {CIRCLE}"),
        (", pool: cpu", "", f"9:3: steps.reward: {NO_POOL}"),
        (
            "context: actor",
            "context: actor, pool: cpu",
            "10:88: steps.train.pool: the context 'actor' is in pool 'train', so the step cannot run in 'cpu'",
        ),
        (', run: "./steps.py:reward"', "", "9:3: steps.reward: missing key 'run': a reward step needs one"),
        (
            "source: actor, target: sampler",
            "target: sampler",
            "11:3: steps.propagate: missing key 'source': a propagate step needs one",
        ),
        (
            "target: sampler",
            'target: sampler, run: "./steps.py:train"',
            "11:80: steps.propagate.run: a propagate step has no 'run': dagrl carries it out in the source",
        ),
        (
            "pool: cpu",
            "pool: cpu, target: sampler",
            "9:80: steps.reward.target: a reward step has no 'target': only a propagate step has one",
        ),
        ("pool: cpu", "pool: gpu", f"9:75: steps.reward.pool: the cluster has no pool 'gpu'; {POOLS}"),
        (
            "pool: rollout",
            "pool: rollout, memory: 1kB, on_evict: discard",
            (
                "6:63: contexts.sampler.memory: needs 1000 bytes, but the largest executor of pool 'rollout' has 999; "
                "it could never run"
            ),
        ),
    ],
)
def test_what_does_not_fit_together_is_told(write: Write, old: str, new: str, fault: str) -> None:
    assert faults_of(write(GOOD.replace(old, new, 1)), cluster=CLUSTER) == [f"a.yaml:{fault}"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["1:1: the file is empty"]),
        ("just words\n", ["1:1: expected a mapping, got the text 'just words'"]),
        ("- job: gcd\n", ["1:1: expected a mapping, got a list"]),
        ("!x {}\n", ["1:1: the tag '!x' is refused: a spec is plain data"]),
        ("job: [\n", ["2:1: not YAML: did not find expected node content while parsing a flow node"]),
        (
            "version: 1\njob: !!python/name:os.system x\niterations: 1\nsteps: !y {}\n",
            [
                "2:6: job: the tag 'tag:yaml.org,2002:python/name:os.system' is refused: a spec is plain data",
                "4:8: steps: the tag '!y' is refused: a spec is plain data",
            ],
        ),
        ("version: 1\njob: a\niterations: 1\n", ["1:1: steps: no steps: a job needs at least one"]),
        ("version: 1\njob: a\niterations: 1\nsteps: {}\n", ["4:1: steps: no steps: a job needs at least one"]),
    ],
)
def test_what_is_no_spec_at_all_is_told(write: Write, text: str, faults: list[str]) -> None:
    told = [line.removesuffix(" that starts on line 2") for line in faults_of(write(text))]

    assert told == [f"a.yaml:{fault}" for fault in faults]


def test_all_faults_of_all_files_are_told_at_once(write: Write) -> None:
    first = GOOD.replace("iterations: 100", "iterations: -1\nitertions: 5\nseed: 1\nseed: 2")
    first = first.replace("needs: [sample]", "needs: [sampel]").replace("context: actor", "context: actr")
    first = first.replace("kind: train", "kind: tarin").replace("steps.py:build", "stepz.py:build", 1)
    second = GOOD.replace("needs: [sample]", "needs: [train]").replace("pool: cpu", "pool: gpu")

    told = faults_of(write(first), write(second, "b.yaml"), write(GOOD, "c.yaml"), Path("gone.yaml"), cluster=CLUSTER)

    assert told == [
        f"a.yaml:3:13: iterations: {COUNT}, got -1",
        "a.yaml:4:1: itertions: unknown key 'itertions' (did you mean 'iterations'?)",
        "a.yaml:6:1: seed: the key stands twice, first on line 5",
        "a.yaml:8:18: contexts.actor.build: no file './stepz.py' in . (did you mean './steps.py'?)",
        "a.yaml:12:60: steps.reward.needs[0]: no step 'sampel' (did you mean 'sample'?)",
        f"a.yaml:13:17: steps.train.kind: {KIND}, got the text 'tarin' (did you mean 'train'?)",
        "a.yaml:13:75: steps.train.context: no context 'actr' (did you mean 'actor'?)",
        "b.yaml:2:6: job: a second job 'gcd': the first is at a.yaml:2:6",
        f"b.yaml:9:74: steps.reward.pool: the cluster has no pool 'gpu'; {POOLS}",
        f"b.yaml:10:57: steps.train.needs[0]: {CIRCLE}",
        "c.yaml:2:6: job: a second job 'gcd': the first is at a.yaml:2:6",
        "gone.yaml: no such file",
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (GOOD[GOOD.index("contexts") : GOOD.index("steps:\n")], "contexts: !x {}\n", "4:11: contexts: the tag '!x'"),
        ("context: sampler", "context: !x sampler", "8:61: steps.sample.context: the tag '!x'"),
        ("source: actor", "source: !x actor", "11:56: steps.propagate.source: the tag '!x'"),
        ("pool: rollout}", "pool: !x a, on_evict: discard}", "6:46: contexts.sampler.pool: the tag '!x'"),
        ("pool: cpu", "pool: !x cpu", "9:75: steps.reward.pool: the tag '!x'"),
        ("kind: propagate", "kind: !x propagate", "11:21: steps.propagate.kind: the tag '!x'"),
        ('run: "./steps.py:reward"', "run: !x y", "9:31: steps.reward.run: the tag '!x'"),
        ("needs: [reward]", "needs: [!x reward]", "10:57: steps.train.needs[0]: the tag '!x'"),
    ],
)
def test_a_faulty_part_does_not_make_others_look_faulty(write: Write, old: str, new: str, fault: str) -> None:
    told = faults_of(write(GOOD.replace(old, new, 1)), cluster=CLUSTER)

    assert told == [f"a.yaml:{fault} is refused: a spec is plain data"]
