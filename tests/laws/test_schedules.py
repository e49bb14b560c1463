"""Laws of every schedule: random DAGs, clusters, durations and policies, simulated with the engine's own scheduler."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.bounds import lower_bound
from dagrl.estimates import Estimates
from dagrl.events import End, Load, Record, Restore, Run, TaskFinished
from dagrl.graph import JobGraph, check, init_step
from dagrl.model import (
    START,
    Cluster,
    Context,
    Eviction,
    ExecutorSpec,
    Job,
    JobStatus,
    Need,
    OnEvict,
    Step,
    StepKind,
    TaskId,
)
from dagrl.policy import Candidate, Policy, Queue, Rank
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.policy.lrs import LrsPolicy
from dagrl.policy.round_robin import RoundRobinPolicy
from dagrl.policy.sequential import SequentialPolicy
from dagrl.scheduler import Scheduler
from dagrl.simulate import makespan, simulate

POOLS = ("rollout", "train", "cpu")


class ChaoticPolicy:
    """Any choice at all, the same one for the same queue."""

    def rank(self, candidate: Candidate) -> Rank:
        return (len(candidate.task.step), candidate.submitted)

    def choose(self, queue: Queue) -> Candidate | None:
        return min(queue, key=lambda c: hashlib.sha256(f"{c.task}{queue.now}".encode()).digest())


seconds = st.floats(0.01, 10, allow_nan=False).map(lambda value: round(value, 3))
policies: st.SearchStrategy[Policy] = st.sampled_from(
    [ListPolicy(), FifoPolicy(), SequentialPolicy(), LrsPolicy(), RoundRobinPolicy(), ChaoticPolicy()]
)


@st.composite
def jobs(draw: st.DrawFn, name: str, widest: int = 1) -> Job:
    """A trainer and a sampler with a propagate between them, and other steps hung in at random."""
    steps = [
        Step("sample", StepKind.SAMPLE, "rollout", "m:f", "sampler", expected_seconds=draw(seconds)),
        Step("train", StepKind.TRAIN, "train", "m:f", "actor", (Need("sample"),), expected_seconds=draw(seconds)),
        Step("propagate", StepKind.PROPAGATE, "train", None, "actor", (Need("train"),), ("sampler",)),
    ]
    for number in range(draw(st.integers(0, 3))):
        earlier = [step.name for step in steps if step.kind is not StepKind.PROPAGATE]
        needs = [Need(other, draw(st.sampled_from([0, 0, -1]))) for other in draw(st.sets(st.sampled_from(earlier)))]
        context = draw(st.sampled_from([None, "critic", "actor"]))
        pool = draw(st.sampled_from(POOLS)) if context is None else "train"
        steps.append(
            Step(
                f"s{number}",
                StepKind.TASK,
                pool,
                "m:f",
                context,
                tuple(needs),
                expected_seconds=draw(seconds),
                slots=draw(st.integers(1, widest)),
                also_pools=tuple(draw(st.sets(st.sampled_from([each for each in POOLS if each != pool]), max_size=2))),
            )
        )
    used = {step.context for step in steps} | {"sampler"}
    memory = st.sampled_from([None, 1, 2, 3])
    contexts = [
        Context("actor", "m:f", "train", memory_bytes=draw(memory)),
        Context("sampler", "m:f", "rollout", draw(st.sampled_from(OnEvict)), draw(memory)),
        Context("critic", "m:f", "train", memory_bytes=draw(memory)),
    ]
    order = draw(st.permutations(steps))
    return Job(
        name,
        draw(st.integers(1, 4)),
        tuple(order),
        tuple(context for context in contexts if context.name in used),
        max_staleness=draw(st.integers(0, 2)),
        priority=draw(st.integers(0, 1)),
        checkpoint_every=draw(st.sampled_from([None, 1, 2])),
    )


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Job], Cluster, Policy]:
    each = draw(st.integers(1, 2))
    drawn = [draw(jobs(name, each)) for name in ("a", "b", "c")[: draw(st.integers(1, 3))]]
    budget = draw(st.sampled_from([None, 3, 4, 6]))
    executors = [ExecutorSpec(f"{pool}{index}", pool, memory_bytes=budget) for pool in POOLS for index in range(each)]
    return drawn, Cluster(tuple(executors), draw(st.sampled_from(Eviction))), draw(policies)


def committed(records: list[Record]) -> dict[TaskId, TaskFinished]:
    found: dict[TaskId, TaskFinished] = {}
    for record in records:
        if isinstance(record.event, TaskFinished):
            assert record.event.task not in found, "committed twice"
            found[record.event.task] = record.event
    return found


@settings(max_examples=150, deadline=None)
@given(workloads())
def test_every_task_commits_exactly_once_after_all_that_it_waits_for(
    workload: tuple[list[Job], Cluster, Policy],
) -> None:
    drawn, cluster, policy = workload
    done = committed(simulate(drawn, cluster, policy, Estimates()))
    for job in drawn:
        graph = JobGraph(job)
        tasks = [TaskId(job.name, i, step.name) for i in range(job.iterations) for step in job.steps]
        assert {task for task in done if task.job == job.name} == {*tasks, *graph.start_tasks()}
        for task in tasks:
            assert all(done[before].finished <= done[task].started for before in graph.predecessors(task))
            declared = next(step for step in job.steps if step.name == task.step).needs
            for need in declared:
                if task.iteration + need.offset >= 0:
                    before = TaskId(job.name, task.iteration + need.offset, need.step)
                    assert done[before].finished <= done[task].started


@settings(max_examples=150, deadline=None)
@given(workloads())
def test_no_sample_starts_before_its_policy_version(workload: tuple[list[Job], Cluster, Policy]) -> None:
    drawn, cluster, policy = workload
    done = committed(simulate(drawn, cluster, policy, Estimates()))
    for job in drawn:
        for iteration in range(job.iterations):
            source = iteration - 1 - job.max_staleness
            published = done[TaskId(job.name, max(source, START), "propagate")]
            assert published.finished <= done[TaskId(job.name, iteration, "sample")].started


@settings(max_examples=100, deadline=None)
@given(workloads())
def test_a_sample_reads_one_version_whatever_the_schedule(workload: tuple[list[Job], Cluster, Policy]) -> None:
    drawn, cluster, policy = workload
    held: dict[str, int] = {}
    for record in simulate(drawn, cluster, policy, Estimates()):
        for decision in record.decisions:
            match decision:
                case Load(context=context, version=version) if context.name == "sampler":
                    held[context.job] = version
                case Restore(context=context) if context.name == "sampler":
                    job = next(job for job in drawn if job.name == context.job)
                    if JobGraph(job).contexts["sampler"].on_evict is OnEvict.DISCARD:
                        held[context.job] = -1
                case Run(task=task) if task.step == "sample":
                    job = next(job for job in drawn if job.name == task.job)
                    assert held[task.job] == max(task.iteration - job.max_staleness, 0)


@settings(max_examples=100, deadline=None)
@given(workloads())
def test_an_executor_does_one_thing_at_a_time_and_a_context_keeps_its_order(
    workload: tuple[list[Job], Cluster, Policy],
) -> None:
    drawn, cluster, policy = workload
    records = simulate(drawn, cluster, policy, Estimates())
    done = committed(records)
    lanes = defaultdict(list)
    crews = {
        decision.task: (decision.executor, *decision.also)
        for record in records
        for decision in record.decisions
        if isinstance(decision, Run)
    }
    for event in done.values():
        for executor in crews[event.task]:
            lanes[executor].append((event.started, event.finished))
    for spans in lanes.values():
        spans.sort()
        assert all(first[1] <= second[0] for first, second in pairwise(spans))
    for job in drawn:
        for step in job.steps:
            crew = crews[TaskId(job.name, 0, step.name)]
            assert len(set(crew)) == step.slots + len(step.also_pools)
        for chain in JobGraph(job).chains.values():
            tasks = [TaskId(job.name, i, step) for i in range(job.iterations) for step in chain]
            assert all(done[a].finished <= done[b].started for a, b in pairwise(tasks))


@settings(max_examples=60, deadline=None)
@given(workloads())
def test_equal_events_give_equal_decisions(workload: tuple[list[Job], Cluster, Policy]) -> None:
    drawn, cluster, policy = workload
    records = simulate(drawn, cluster, policy, Estimates())
    assert simulate(drawn, cluster, policy, Estimates()) == records
    replayed = Scheduler(cluster, policy, Estimates())
    assert [tuple(replayed.handle(record.event)) for record in records] == [record.decisions for record in records]


@settings(max_examples=100, deadline=None)
@given(workloads())
def test_no_schedule_beats_the_lower_bound(workload: tuple[list[Job], Cluster, Policy]) -> None:
    drawn, cluster, policy = workload
    expected = Estimates()
    bound = lower_bound(
        drawn,
        cluster,
        lambda job, step: expected.task_seconds(job.name, step),
        lambda job, context: expected.task_seconds(job.name, init_step(context)),
    )
    assert makespan(simulate(drawn, cluster, policy, expected)) >= bound.seconds - 1e-9


@settings(max_examples=60, deadline=None)
@given(workloads())
def test_every_job_ends_and_is_said_to(workload: tuple[list[Job], Cluster, Policy]) -> None:
    drawn, cluster, policy = workload
    ends = [
        d for record in simulate(drawn, cluster, policy, Estimates()) for d in record.decisions if isinstance(d, End)
    ]
    assert sorted((end.job, end.status) for end in ends) == [(job.name, JobStatus.DONE) for job in drawn]


@settings(max_examples=60, deadline=None)
@given(jobs("a"), st.integers(1, 3))
def test_a_circle_within_an_iteration_is_found_wherever_it_is(job: Job, length: int) -> None:
    names = [step.name for step in job.steps][:length]
    ring = {name: Need(names[index - 1]) for index, name in enumerate(names)}
    steps = [replace(step, needs=(*step.needs, ring[step.name])) if step.name in ring else step for step in job.steps]
    assert any("in a circle" in fault.message for fault in check(replace(job, steps=tuple(steps))))
