"""A rehearsal: a job's functions, called in order in this process, with what dagrl would give them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch


@dataclass
class Logged:
    values: dict[str, float] = field(default_factory=dict)

    def log(self, values: Mapping[str, float] | None = None, /, **more: float) -> None:
        self.values.update(values or {}, **more)


@dataclass
class Build:
    """A BuildContext."""

    params: Mapping[str, Any]
    context: str = "context"
    seed: int = 0
    job: str = "rehearsed"
    device: str = "cpu"


@dataclass
class Step:
    """A StepContext."""

    params: Mapping[str, Any]
    contexts: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    step: str = "step"
    iteration: int = 0
    version: int | None = None
    job: str = "rehearsed"
    device: str = "cpu"
    seed: int = 0
    rng: random.Random = field(default_factory=random.Random)
    metrics: Logged = field(default_factory=Logged)
    cancelled: bool = False

    def check_cancelled(self) -> None:
        pass


def call(reference: str) -> Callable[[Any], Any]:
    module, _, name = reference.partition(":")
    function: Callable[[Any], Any] = getattr(import_module(module), name)
    return function


def seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global generator is part of a context
    torch.manual_seed(seed)


def generators() -> tuple[Any, ...]:
    return random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002


def restore_generators(states: tuple[Any, ...]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    torch.set_rng_state(states[2])


class Rehearsal:
    """The contexts of one job, and its iterations one after the other."""

    def __init__(
        self, recipe: Mapping[str, Any], params: Mapping[str, Any], *, seed: int = 0, max_staleness: int = 0
    ) -> None:
        self.recipe = recipe
        self.params = {**recipe["params"], **params}
        self.max_staleness = max_staleness
        self.iteration = 0
        self.artifacts: dict[str, Any] = {}
        self.states: dict[str, Any] = {}
        self.random: dict[str, tuple[Any, ...]] = {}
        for name, context in recipe["contexts"].items():
            seed_everything(seed)
            self.states[name] = call(context["build"])(Build(self.params, name, seed))
            self.random[name] = generators()
        self.versions: dict[str, list[Any]] = {
            name: [weights_of(self.states[step["source"]])] for name, step in self.propagates()
        }

    def propagates(self) -> list[tuple[str, Any]]:
        return [(name, step) for name, step in self.recipe["steps"].items() if step["kind"] == "propagate"]

    def run(self, iterations: int = 1) -> list[dict[str, float]]:
        """What each iteration logged."""
        return [self.run_one() for _ in range(iterations)]

    def run_one(self) -> dict[str, float]:
        logged: dict[str, float] = {}
        for name, step in self.propagates():
            version = self.versions[name][max(self.iteration - self.max_staleness, 0)]
            target = self.states[step["target"]]
            for module in version.keys() & target.keys():
                target[module].load_state_dict(version[module])
        for name, step in self.recipe["steps"].items():
            if step["kind"] != "propagate":
                logged |= self.step(name, step)
        for name, step in self.propagates():
            self.versions[name].append(weights_of(self.states[step["source"]]))
        self.iteration += 1
        return logged

    def step(self, name: str, declared: Mapping[str, Any]) -> dict[str, float]:
        context = declared.get("context")
        contexts = {context: self.states[context]} if context else {}
        inputs = {needed: self.artifacts[needed] for needed in declared.get("needs", ())}
        step = Step(self.params, contexts, inputs, name, self.iteration)
        if context:
            restore_generators(self.random[context])
        artifact = call(declared["run"])(step)
        if context:
            self.random[context] = generators()
        # Whatever one task leaves in the generators must not reach the next.
        seed_everything(self.iteration)
        if artifact is not None:
            self.artifacts[name] = artifact
        return step.metrics.values


def weights_of(state: Mapping[str, Any]) -> dict[str, dict[str, torch.Tensor]]:
    modules = {name: each for name, each in state.items() if isinstance(each, torch.nn.Module)}
    return {name: {key: value.clone() for key, value in each.state_dict().items()} for name, each in modules.items()}


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def rehearse() -> type[Rehearsal]:
    return Rehearsal


@pytest.fixture
def build() -> type[Build]:
    return Build


@pytest.fixture
def step() -> type[Step]:
    return Step
