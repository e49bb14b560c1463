"""Promise 1, from the other side: a digest can fail.

Every task of the shipped recipes runs in a state that was built anew and restored from what the task before left behind,
as in another process. All of it gives the digest of a job that was left alone; without any one part of it, the digest
differs or the job fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import pytest

from dagrl_local import ambient
from dagrl_local.ambient import Ambience, Snapshot
from dagrl_local.blocks import Block
from dagrl_local.publish import load_weights, weights_of
from dagrl_local.seeds import build_seed, task_seed
from dagrl_local.sources import SOURCES
from dagrl_local.state import Scan, Tree, capture, digest, lay_out, read_tree, restore
from dagrl_local.state.image import image_in
from dagrl_local.steps import Building, Running

ITERATIONS = 3
SEED = 5


@dataclass(frozen=True)
class Workload:
    """A recipe, small: its steps in order, and which contexts its weights go from and to."""

    recipe: str
    params: Mapping[str, Any]
    steps: tuple[str, ...]
    source: str
    target: str


GRPO = Workload(
    "dagrl.recipes.grpo",
    {"task": "gcd", "num_prompts_per_step": 4, "group_size": 4, "max_response_length": 3, "lr_warmup_steps": 4},
    ("sample", "reward", "train"),
    "actor",
    "sampler",
)
PPO = Workload(
    "dagrl.recipes.ppo",
    {"env": "CartPole-v1", "num_envs": 2, "num_env_steps": 24, "num_epochs_per_batch": 2, "train_mini_batch_size": 16},
    ("collect", "train"),
    "learner",
    "collector",
)


@dataclass
class Job:
    """A job whose tasks run one after the other in this process."""

    work: Workload
    ambience: Ambience
    #: Build every state anew before each task.
    anew: bool = False
    #: What is not restored then: `context.part`, `context.part.key`, a generator's name, `weights` or `inputs`.
    left_out: str = ""
    states: dict[str, Any] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)
    left: dict[str, Snapshot] = field(default_factory=dict)
    metrics: list[dict[str, float]] = field(default_factory=list)
    weights: Tree | None = None
    inputs: dict[str, Any] = field(default_factory=dict)

    def run(self) -> tuple[str, str]:
        """Run all iterations; the digests of everything, and of the trained weights alone."""
        for name in (self.work.source, self.work.target):
            self.states[name] = self.build(name)
            self.left[name] = self.ambience.leave()
            self.trees[name] = capture(self.states[name])
        for iteration in range(ITERATIONS):
            self.publish()
            self.inputs = {}
            for step in self.work.steps:
                self.task(step, iteration)
        whole = {name: self.restored(name) for name in self.states}
        left = {name: [each.seed, dict(each.states)] for name, each in self.left.items()}
        weights = weights_of(whole[self.work.source])
        return digest(Scan(whole), [left, self.metrics]), digest(weights)

    def build(self, name: str) -> Any:
        function = getattr(import_module(self.work.recipe), f"build_{name}")
        self.ambience.enter(Snapshot(build_seed(SEED)), threads=1)
        return function(Building("job", name, dict(self.work.params), build_seed(SEED), "cpu"))

    def publish(self) -> None:
        published = weights_of(self.restored(self.work.source))
        self.weights = read_tree(image_in(lay_out(published, {}), Block))

    def task(self, step: str, iteration: int) -> None:
        declared = import_module(self.work.recipe).RECIPE["steps"][step]
        name = declared.get("context")
        state = self.restored(name) if name else None
        if name == self.work.target and self.left_out != "weights":
            assert self.weights is not None
            load_weights(state, self.weights)
        running = Running(
            job="job",
            step=step,
            iteration=iteration,
            params=dict(self.work.params),
            device="cpu",
            contexts={name: state} if name else {},
            inputs={need: self.inputs[need] for need in declared.get("needs", ()) if self.left_out != "inputs"},
            seed=task_seed(SEED, iteration, step),
            version=iteration,
            is_cancelled=lambda: False,
        )
        self.ambience.enter(self.snapshot(name) if name else Snapshot(running.seed), threads=1)
        self.inputs[step] = getattr(import_module(self.work.recipe), step)(running)
        if name:
            self.left[name] = self.ambience.leave()
            self.trees[name] = capture(state)
        self.metrics.append(running.metrics.values)

    def snapshot(self, name: str) -> Snapshot:
        left = self.left[name]
        kept = {source: state for source, state in left.states.items() if self.left_out not in {source, "random"}}
        return replace(left, states=kept)

    def restored(self, name: str) -> Any:
        if not self.anew:
            return self.states[name]
        state, tree = self.build(name), self.trees[name]
        context, _, part = self.left_out.partition(".")
        part, _, key = part.partition(".")
        if context != name:
            return restore(state, tree)
        begun = capture(state[part])
        if key:
            begun_value = state[part].state_dict()[key]
            restore(state, tree)
            state[part].load_state_dict({**state[part].state_dict(), key: begun_value})
            return state
        kept, nodes = state[part], tree.root["plain.dict"]
        restore(state, replace(tree, root={"plain.dict": {each: nodes[each] for each in nodes if each != part}}))
        if part != "optimizer":
            # An optimizer that was restored has brought its parameters along.
            restore(kept, begun)
        return {**state, part: kept}


@pytest.fixture
def ambience(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(ambient, "guard_imports", lambda _: nullcontext)
    before = {source.name: source.get() for source in SOURCES}
    yield Ambience()
    for source in SOURCES:
        if before[source.name] is not None:
            source.set(before[source.name])


@pytest.fixture(scope="module")
def alone() -> dict[str, tuple[str, str]]:
    """Digests of jobs that were left alone, by recipe."""
    return {}


@pytest.mark.parametrize("work", [GRPO, PPO], ids=["grpo", "ppo"])
def test_a_job_in_states_built_anew_for_every_task_comes_to_the_same_bits(work: Workload, ambience: Ambience) -> None:
    solo = Job(work, ambience).run()
    assert Job(work, ambience).run() == solo
    assert Job(work, ambience, anew=True).run() == solo


@pytest.mark.parametrize(
    ("work", "left_out"),
    [
        *((GRPO, part) for part in ("actor.model", "actor.optimizer", "actor.scheduler", "sampler.cursor")),
        *((GRPO, part) for part in ("weights", "random", "torch")),
        *((PPO, part) for part in ("learner.policy", "learner.optimizer", "collector.envs")),
        (PPO, "collector.collector.last_observation"),
        *((PPO, part) for part in ("weights", "random", "torch", "numpy")),
    ],
    ids=lambda value: value.recipe.rpartition(".")[2] if isinstance(value, Workload) else value,
)
def test_without_any_one_part_of_it_other_weights_come_out(
    work: Workload, left_out: str, ambience: Ambience, alone: dict[str, tuple[str, str]]
) -> None:
    if work.recipe not in alone:
        alone[work.recipe] = Job(work, ambience).run()
    whole, weights = Job(work, ambience, anew=True, left_out=left_out).run()
    assert whole != alone[work.recipe][0]
    assert weights != alone[work.recipe][1]


@pytest.mark.parametrize("work", [GRPO, PPO], ids=["grpo", "ppo"])
def test_without_the_batch_that_is_under_way_the_job_fails(work: Workload, ambience: Ambience) -> None:
    with pytest.raises((KeyError, ValueError)):
        Job(work, ambience, anew=True, left_out="inputs").run()
