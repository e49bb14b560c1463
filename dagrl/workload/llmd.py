"""A recorded llm-d time-slicing run: two pools, one lock each, jobs that hold a pool from acquire to yield.

Owns the model of what the real system did. A job trains on the trainer, takes the sampler as well for the weight sync,
gives the trainer back, generates, gives the sampler back and scores. Restores and checkpoints are part of the holds in
which they happened, so that a schedule only decides who goes first. `Terms` say what may be otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dagrl.errors import Fault, SpecError
from dagrl.model import INIT_PREFIX, START, Cluster, Context, ExecutorSpec, Job, JsonValue, Need, Step, StepKind
from dagrl.simulate import Workload
from dagrl.workload.draws import Draw, Listed
from dagrl.workload.scenario import NO_CALLABLE, Scenario, Source, estimates

TRAINER, SAMPLER, CPU, COPY = "trainer", "sampler", "cpu", "copy"

#: Seconds of putting a sampler to sleep that drops its state, and of waking it, as measured for such engines.
DISCARD_SECONDS = 0.25

#: Seconds by phase, per step of the recorded run.
_Phases: TypeAlias = Sequence[Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Terms:
    """What is as recorded, and what is not."""

    #: Whether restores and checkpoints take time at all.
    with_swaps: bool = True
    #: The sampler's state is dropped and not checkpointed.
    discards_sampler: bool = False
    #: Initialisation and weight sync take a pool each for their share, and never both at once.
    one_pool_at_a_time: bool = False
    #: Restores are done beside another job's computing, as soon as a job has given a pool back.
    prefetches: bool = False
    polling_seconds: float = 0.0


def is_llmd(data: JsonValue) -> bool:
    """Whether this is such a recording."""
    return isinstance(data, dict) and {"phases", "locks"} <= data.keys()


def llmd(data: JsonValue, file: str, terms: Terms | None = None) -> Source:
    """The one scenario of a recording, as it was unless `terms` are given.

    Raises SpecError for a phase without job, step, name, start or seconds.
    """
    terms = terms or Terms()
    recorded, starts = _by_job(data["phases"], file)
    members = [_Member(name, recorded[name], terms) for name in sorted(recorded, key=starts.__getitem__)]
    durations = {(member.name, step): found for member in members for step, found in member.durations.items()}
    known = estimates({})
    for (name, step), duration in durations.items():
        if step.startswith(INIT_PREFIX):
            known.tasks[name, step].add(duration.values[0])
    first = min(starts.values(), default=0.0)
    workload = Workload(
        [member.job() for member in members],
        _cluster(len(members)),
        known,
        arrivals={name: start - first for name, start in starts.items()},
        draw=Draw(0, durations),
        polling_seconds=terms.polling_seconds,
    )
    scenario = Scenario(workload)
    return Source(file, lambda _seed: scenario)


def _by_job(phases: JsonValue, file: str) -> tuple[dict[str, _Phases], dict[str, float]]:
    found: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    starts: dict[str, float] = {}
    for index, row in enumerate(phases):
        match row:
            case {
                "job": str(job),
                "step": int(step),
                "phase": str(phase),
                "start_t": int() | float() as start,
                "dur_s": int() | float() as seconds,
            }:
                found[job][step][phase] = float(seconds)
                starts[job] = min(start, starts.get(job, start))
            case _:
                message = "expected a phase: job, step, phase, start_t and dur_s"
                raise SpecError([Fault(file, 0, 0, f"phases[{index}]", message)])
    return {job: [steps[number] for number in range(max(steps) + 1)] for job, steps in found.items()}, starts


def _cluster(jobs: int) -> Cluster:
    """The two devices, and as many processors and copy engines as could ever be busy."""
    others = [(pool, number) for pool, count in ((CPU, jobs), (COPY, 2 * jobs)) for number in range(count)]
    shared = (ExecutorSpec(f"{pool}{number}", pool) for pool, number in others)
    return Cluster((ExecutorSpec(TRAINER, TRAINER), ExecutorSpec(SAMPLER, SAMPLER), *shared))


@dataclass
class _Member:
    """One recorded job. Its iteration i generates with the weights of recorded step i and trains step i + 1."""

    name: str
    phases: _Phases
    terms: Terms
    durations: dict[str, Listed] = field(init=False)

    def __post_init__(self) -> None:
        """Add up the holds."""
        iterations = range(len(self.phases) - 1)
        self.durations = {
            "generate": Listed([self._generate(step) for step in iterations]),
            "reward": Listed([self._of(step, "reward_cpu") for step in iterations]),
            "train": Listed([self._train(step + 1) for step in iterations]),
            "sync": Listed([self._sync(step) for step in (0, *(step + 1 for step in iterations))], START),
        }
        if self.terms.one_pool_at_a_time:
            self.durations[f"{INIT_PREFIX}sampler"] = Listed([self._of(0, "init_sync")], START)
        if self.terms.prefetches:
            for context, pool in (("actor", TRAINER), ("sampler", SAMPLER)):
                restores = [self._swap(step + 1, f"restore_{pool}") for step in iterations]
                self.durations[f"fetch-{context}"] = Listed(restores)

    def job(self) -> Job:
        """The job, with its steps' mean seconds for planning."""
        both = () if self.terms.one_pool_at_a_time else (SAMPLER,)
        fetched: dict[str, list[str]] = defaultdict(list)
        if self.terms.prefetches:
            fetched["train"].append("fetch-actor")
            # Held with the trainer the sampler wakes for the sync, else for what it generates with it.
            reader, need = ("sync", "fetch-sampler") if both else ("generate", "fetch-sampler@-1")
            fetched[reader].append(need)
        steps = [
            self._step("generate", StepKind.SAMPLE, SAMPLER, *fetched["generate"], context="sampler"),
            self._step("reward", StepKind.REWARD, CPU, "generate"),
            self._step("train", StepKind.TRAIN, TRAINER, "reward", *fetched["train"], context="actor"),
            self._step("sync", StepKind.PROPAGATE, TRAINER, "train", *fetched["sync"], context="actor", also=both),
        ]
        if self.terms.prefetches:
            steps.append(self._step("fetch-actor", StepKind.TASK, COPY, "sync@-1"))
            steps.append(self._step("fetch-sampler", StepKind.TASK, COPY, "reward"))
        contexts = (Context("actor", NO_CALLABLE, TRAINER), Context("sampler", NO_CALLABLE, SAMPLER))
        return Job(self.name, len(self.phases) - 1, tuple(steps), contexts)

    def _generate(self, step: int) -> float:
        """What the sampler is held for after the sync; a share of the sync too if the trainer need not wait for it."""
        alone = self._of(step, "sync") + self._restore(step, SAMPLER) if self.terms.one_pool_at_a_time else 0.0
        return alone + self._of(step, "generate") + self._swap(step, "ckpt_sampler")

    def _train(self, step: int) -> float:
        """What the trainer is held for until the sync; to the end, where there is none."""
        is_last = step == len(self.phases) - 1
        last = self._swap(step, "ckpt_trainer") if is_last else 0.0
        return self._restore(step, TRAINER) + self._of(step, "train") + last

    def _sync(self, step: int) -> float:
        """What the trainer is held for from the sync on: a job first builds its models, and ends without a sync."""
        if step == len(self.phases) - 1:
            return 0.0
        waking = 0.0 if self.terms.one_pool_at_a_time else self._restore(step, SAMPLER)
        work = self._of(step, "init") + self._of(step, "init_sync") + self._of(step, "sync")
        return waking + work + self._swap(step, "ckpt_trainer")

    def _restore(self, step: int, pool: str) -> float:
        return 0.0 if self.terms.prefetches else self._swap(step, f"restore_{pool}")

    def _swap(self, step: int, phase: str) -> float:
        seconds = self._of(step, phase) if self.terms.with_swaps else 0.0
        return min(seconds, DISCARD_SECONDS) if self.terms.discards_sampler and phase.endswith(SAMPLER) else seconds

    def _of(self, step: int, phase: str) -> float:
        return self.phases[step].get(phase, 0.0)

    def _step(
        self, name: str, kind: StepKind, pool: str, *needs: str, context: str | None = None, also: tuple[str, ...] = ()
    ) -> Step:
        wanted = tuple(Need(step, -1 if before else 0) for step, before, _ in (need.partition("@-1") for need in needs))
        return Step(
            name,
            kind,
            pool,
            None if kind is StepKind.PROPAGATE else NO_CALLABLE,
            context,
            wanted,
            ("sampler",) if kind is StepKind.PROPAGATE else (),
            expected_seconds=self.durations[name].mean_seconds,
            also_pools=also,
        )
