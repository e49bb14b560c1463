"""Shared fixtures: a project directory with steps of pure Python, and the command line run as people run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

STEPS = '''
"""Steps without torch: a counter that adds random numbers, and steps that go wrong in every way."""
import os
import random
import sys
import time


def build_actor(build):
    return {"total": random.randrange(100), "seen": []}


def build_sampler(build):
    return {"total": random.randrange(100)}


def sample(ctx):
    return {"numbers": [random.random() for _ in range(3)] + [ctx.rng.random()]}


def reward(ctx):
    return {"reward": sum(ctx.inputs["sample"]["numbers"]) + random.random()}


def train(ctx):
    actor = ctx.contexts["actor"]
    actor["total"] += ctx.inputs["reward"]["reward"] + random.random()
    actor["seen"].append(ctx.iteration)
    ctx.metrics.log(reward=actor["total"])


def slow_train(ctx):
    time.sleep(0.05)
    train(ctx)


def fail(ctx):
    print("about to fail")
    raise ValueError("no such luck")


def hang(ctx):
    time.sleep(600)


def leave(ctx):
    os._exit(3)


def no_artifact(ctx):
    return {"model": object()}


def fail_unspeakably(ctx):
    ctx.metrics.log({"m\\udcff": 1.0})
    sys.stderr.close()
    raise ValueError("x\\udcff\\nmore \\udcff")


def fork(ctx):
    if os.fork() == 0:
        return None
    time.sleep(0.2)


COUNTER = [0]


def count(ctx):
    COUNTER[0] += 1
    ctx.metrics.log(reward=COUNTER[0])


def wait_for_cancel(ctx):
    open(os.environ["STARTED"], "w").close()
    while not ctx.cancelled:
        time.sleep(0.01)


def stubborn(ctx):
    open(os.environ["STARTED"], "w").close()
    time.sleep(600)
'''

JOB = """version: 1
job: {name}
iterations: {iterations}
seed: 3
contexts:
  actor: {{build: "./steps.py:build_actor", pool: train}}
  sampler: {{build: "./steps.py:build_sampler", pool: rollout}}
steps:
  sample: {{kind: sample, run: "./steps.py:sample", context: sampler}}
  reward: {{kind: reward, run: "./steps.py:{reward}", needs: [sample], pool: cpu{timeout}}}
  train: {{kind: train, run: "./steps.py:{train}", needs: [reward], context: actor{timeout}}}
"""

CLUSTER = """version: 1
eviction: {eviction}
executors:
  rollout: {{pool: rollout}}
  train: {{pool: train}}
  cpu: {{pool: cpu}}
"""


@dataclass(frozen=True)
class Project:
    """A directory with specs, and the command line run in it."""

    directory: Path

    def job(
        self,
        name: str,
        iterations: int = 3,
        *,
        train: str = "train",
        reward: str = "reward",
        timeout: float | None = None,
    ) -> str:
        """Write a job's spec and return its file name."""
        limit = "" if timeout is None else f", timeout: {timeout}"
        text = JOB.format(name=name, iterations=iterations, train=train, reward=reward, timeout=limit)
        (self.directory / f"{name}.yaml").write_text(text)
        return f"{name}.yaml"

    def cluster(self, eviction: str = "lazy") -> str:
        """Write a cluster file and return its name."""
        (self.directory / "cluster.yml").write_text(CLUSTER.format(eviction=eviction))
        return "cluster.yml"

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command line."""
        return subprocess.Popen(
            [sys.executable, "-m", "dagrl", *arguments],
            cwd=self.directory,
            env={**os.environ, "STARTED": str(self.directory / "started")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def dagrl(self, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run the command line to its end and check its exit code."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=100)
        assert process.returncode == expect, f"exit {process.returncode}\n{out}\n{err}"
        assert "Traceback (most recent call last)" not in err, err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def run(self, *specs: str, expect: int = 0, options: tuple[str, ...] = ()) -> dict[str, Any]:
        """Run jobs and return what `dagrl run --json` printed."""
        done = self.dagrl("run", *specs, "--cluster", self.cluster(), *options, "--json", expect=expect)
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project with a file of steps."""
    (tmp_path / "steps.py").write_text(STEPS)
    return Project(tmp_path)
