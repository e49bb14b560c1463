from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagrl.bounds import Bound, critical_path, lower_bound, pool_work
from dagrl.model import Cluster, Context, ExecutorSpec, Job, Need, Step, StepKind

SECONDS = {"sample": 3.0, "reward": 1.0, "train": 2.0, "propagate": 0.5}


def step_seconds(_: Job, step: Step) -> float:
    return SECONDS[step.name]


def build_seconds(_: Job, context: Context) -> float:
    return {"actor": 4.0, "sampler": 5.0}[context.name]


def no_seconds(_: Job, __: Context) -> float:
    return 0.0


def rl_job(name: str = "gcd", iterations: int = 10, max_staleness: int = 0) -> Job:
    return Job(
        name,
        iterations,
        (
            Step("sample", StepKind.SAMPLE, "rollout", run="m:sample", context="sampler"),
            Step("reward", StepKind.REWARD, "cpu", run="m:reward", needs=(Need("sample"),)),
            Step("train", StepKind.TRAIN, "train", run="m:train", context="actor", needs=(Need("reward"),)),
            Step(
                "propagate",
                StepKind.PROPAGATE,
                "train",
                context="actor",
                needs=(Need("train"),),
                targets=("sampler",),
            ),
        ),
        (Context("actor", "m:build", "train"), Context("sampler", "m:build", "rollout")),
        max_staleness=max_staleness,
    )


def cluster(**pools: int) -> Cluster:
    return Cluster(tuple(ExecutorSpec(f"{pool}{i}", pool) for pool, count in pools.items() for i in range(count)))


def test_work_counts_builds_first_publications_and_every_iteration() -> None:
    work = pool_work(rl_job(), step_seconds, build_seconds)
    assert work == {"train": 4.0 + 10 * 2.0 + 11 * 0.5, "rollout": 5.0 + 30.0, "cpu": 10.0}


def test_an_on_policy_job_takes_its_whole_cycle_once_per_iteration() -> None:
    start = 4.0 + 0.5  # the first weights are published before the sampler, whose build takes 5, may start
    assert critical_path(rl_job(), step_seconds, build_seconds) == max(start, 5.0) + 10 * 6.5


def test_staleness_shortens_the_path_but_not_below_what_one_context_must_do_in_order() -> None:
    paths = [critical_path(rl_job(iterations=100, max_staleness=k), step_seconds, no_seconds) for k in range(4)]
    assert paths[0] > paths[1] >= paths[2] >= paths[3]
    assert paths[1] >= 100 * 6.5 / 2
    assert paths[3] >= 100 * 3.0


def test_the_binding_bound_of_one_job_is_the_job() -> None:
    bound = lower_bound([rl_job()], cluster(rollout=1, train=1, cpu=1), step_seconds, build_seconds)
    assert bound == Bound(5.0 + 65.0, "job gcd")


def test_the_binding_bound_of_many_jobs_is_the_busiest_pool() -> None:
    jobs = [rl_job(name) for name in ("a", "b", "c")]
    bound = lower_bound(jobs, cluster(rollout=1, train=1, cpu=1), step_seconds, build_seconds)
    assert bound == Bound(3 * 35.0, "pool rollout")


def test_executors_of_a_pool_share_its_work() -> None:
    jobs = [rl_job(str(index)) for index in range(8)]
    bound = lower_bound(jobs, cluster(rollout=2, train=4, cpu=1), step_seconds, build_seconds)
    assert bound == Bound(8 * 35.0 / 2, "pool rollout")


def test_no_jobs_take_no_time() -> None:
    assert lower_bound([], cluster(cpu=1), step_seconds, no_seconds).seconds == 0.0


@pytest.mark.parametrize("iterations", [1, 2, 7])
@given(seconds=st.lists(st.floats(0.01, 100.0), min_size=4, max_size=4), max_staleness=st.integers(0, 3))
def test_a_path_is_at_least_one_cycle_and_at_most_all_tasks_in_a_row(
    iterations: int, seconds: list[float], max_staleness: int
) -> None:
    cost = dict(zip(SECONDS, seconds, strict=True))
    job = rl_job(iterations=iterations, max_staleness=max_staleness)
    path = critical_path(job, lambda _, step: cost[step.name], no_seconds)
    cycle = sum(seconds)
    assert path >= cycle / (1 + max_staleness) * iterations - 1e-9
    assert path >= cycle - 1e-9
    assert path <= cost["propagate"] + cycle * iterations + 1e-9
