"""The simulated workload that RollMux publishes in its Table 6, as a generator: `table6:pools-warm`.

Owns the mix (balanced, rollout-heavy and train-heavy jobs in turn, each small, medium or large by chance), two layouts
and three prices of switching. In `pools` rollouts and training have an executor each. In `shared` a job does both on
one executor for all jobs and waits off the device in between, where nothing is scarce: time slicing of one accelerator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dagrl.errors import UsageError, did_you_mean
from dagrl.model import Cluster, Context, ContextId, ExecutorSpec, Job, Need, Step, StepKind
from dagrl.simulate import Workload
from dagrl.workload.draws import Draw, Duration, Lognormal, Uniform, chance
from dagrl.workload.scenario import NO_CALLABLE, Scenario, Source, Switch, estimates

PREFIX = "table6:"

_LIGHT = (Uniform(25, 50), Uniform(50, 100), Uniform(100, 200))
_EVEN = (Uniform(50, 100), Uniform(100, 200), Uniform(200, 300))
_HEAVY = (Uniform(100, 200), Uniform(200, 400), Uniform(400, 600))
#: Seconds of a rollout and of a train step by shape, each by size: the published table.
SHAPES = ((_EVEN, _EVEN), (_HEAVY, _LIGHT), (_LIGHT, _HEAVY))
SIZES = 3
#: How much an iteration varies around its job's mean.
CV = 0.15
#: Seconds off the device in `shared`, as a multiple of those on it.
WAIT = 1.25
#: Seconds of bringing a rollout and a train context back: kept in host memory, in between, and made anew.
SWITCHES = {"warm": (1.7, 5.9), "medium": (10.0, 20.0), "cold": (60.0, 70.0)}
LAYOUTS = ("pools", "shared")
CASES = tuple(f"{layout}-{switch}" for layout in LAYOUTS for switch in SWITCHES)

#: Of an 8-GPU node, by the published prices of H20 and H800 GPUs.
_DOLLARS_PER_HOUR = {"rollout": 8 * 1.85, "train": 8 * 5.28}
_WORD = re.compile(rf"{PREFIX}(?P<case>[a-z0-9-]*)(?::(?P<jobs>[1-9]\d*)x(?P<iterations>[1-9]\d*))?")

_Member: TypeAlias = tuple[Job, dict[str, Duration], dict[str, float]]
_Chance: TypeAlias = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Table6:
    """One case of the table."""

    layout: str
    switch: str
    jobs: int = 6
    #: On average: a job does between half and one and a half times as many.
    iterations: int = 8

    def at(self, seed: int) -> Scenario:
        """The jobs of one seed."""
        members = [self._member(seed, number) for number in range(self.jobs)]
        cluster = _cluster(self.layout, self.jobs)
        switches = {
            ContextId(job.name, context): Switch(init_seconds=seconds, restore_seconds=seconds)
            for job, _, contexts in members
            for context, seconds in contexts.items()
        }
        durations = {(job.name, step): found for job, steps, _ in members for step, found in steps.items()}
        workload = Workload([job for job, _, _ in members], cluster, estimates(switches), draw=Draw(seed, durations))
        prices = {e.name: _DOLLARS_PER_HOUR[e.pool] for e in cluster.executors if e.pool in _DOLLARS_PER_HOUR}
        return Scenario(workload, prices)

    def _member(self, seed: int, number: int) -> _Member:
        name = f"job{number}"

        def chance_of(what: str) -> float:
            return chance(seed, f"{name} {what}")

        size = int(chance_of("size") * SIZES)
        rollout, train = (
            Lognormal.of(spread[size].seconds(0, chance_of(what)), CV)
            for spread, what in zip(SHAPES[number % len(SHAPES)], ("rollout", "train"), strict=True)
        )
        least = self.iterations // 2
        iterations = max(least + int(chance_of("iterations") * (2 * (self.iterations - least) + 1)), 1)
        make = _two_pools if self.layout == "pools" else _one_executor
        return make(name, iterations, (rollout, train), self.switch, chance_of)


def is_table6(word: str) -> bool:
    """Whether the word names this generator."""
    return word.startswith(PREFIX)


def table6(word: str) -> Source:
    """The case that a word names: `table6:pools-warm`, or `table6:pools-warm:20x8` for 20 jobs of 8 iterations.

    Raises UsageError that names all cases.
    """
    match = _WORD.fullmatch(word)
    if match is None or match["case"] not in CASES:
        hint = did_you_mean(word.removeprefix(PREFIX), CASES)
        raise UsageError(f"no workload {word!r}{hint}; there are {PREFIX} followed by {', '.join(CASES)}")
    sizes = {} if match["jobs"] is None else {"jobs": int(match["jobs"]), "iterations": int(match["iterations"])}
    layout, _, switch = match["case"].partition("-")
    return Source(word, Table6(layout, switch, **sizes).at)


def _cluster(layout: str, jobs: int) -> Cluster:
    train = ExecutorSpec("train", "train", memory_bytes=1)
    if layout == "pools":
        return Cluster((ExecutorSpec("rollout", "rollout", memory_bytes=1), train))
    return Cluster((train, *(ExecutorSpec(f"elsewhere{number}", "elsewhere") for number in range(jobs))))


def _two_pools(
    name: str, iterations: int, seconds: tuple[Lognormal, Lognormal], switch: str, _chance_of: _Chance
) -> _Member:
    rollout, train = seconds
    steps = (
        _step("rollout", StepKind.SAMPLE, "rollout", rollout, context="sampler"),
        _step("train", StepKind.TRAIN, "train", train, "rollout", context="actor"),
    )
    contexts = (_context("sampler", "rollout"), _context("actor", "train"))
    prices = dict(zip(("sampler", "actor"), SWITCHES[switch], strict=True))
    return Job(name, iterations, steps, contexts), {"rollout": rollout, "train": train}, prices


def _one_executor(
    name: str, iterations: int, seconds: tuple[Lognormal, Lognormal], switch: str, chance_of: _Chance
) -> _Member:
    rollout, train = seconds
    wait = Lognormal.of(WAIT * (rollout.mean_seconds + train.mean_seconds), CV)
    steps = (
        _step("rollout", StepKind.SAMPLE, "train", rollout, context="actor"),
        _step("wait", StepKind.REWARD, "elsewhere", wait, "rollout"),
        _step("train", StepKind.TRAIN, "train", train, "wait", context="actor"),
    )
    price = Uniform(*SWITCHES[switch]).seconds(0, chance_of("switch"))
    durations: dict[str, Duration] = {"rollout": rollout, "wait": wait, "train": train}
    return Job(name, iterations, steps, (_context("actor", "train"),)), durations, {"actor": price}


def _step(name: str, kind: StepKind, pool: str, seconds: Lognormal, *needs: str, context: str | None = None) -> Step:
    needed = tuple(map(Need, needs))
    return Step(name, kind, pool, NO_CALLABLE, context, needed, expected_seconds=seconds.mean_seconds)


def _context(name: str, pool: str) -> Context:
    return Context(name, NO_CALLABLE, pool, memory_bytes=1)
