from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagrl.bounds import Bound, InitSeconds, Instance, StepSeconds, lower_bound, tightest
from dagrl.model import Cluster, Context, ContextId, Eviction, ExecutorSpec, Job, Need, Step, StepKind, TaskId

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


def path(job: Job, seconds: StepSeconds, init_seconds: InitSeconds) -> float:
    """The bound of one job where every pool has executors in plenty."""
    return lower_bound([job], cluster(rollout=9, train=9, cpu=9), seconds, init_seconds).seconds


def test_an_on_policy_job_takes_its_whole_cycle_once_per_iteration() -> None:
    start = 4.0 + 0.5  # the first weights are published before the sampler, whose build takes 5, may start
    assert path(rl_job(), step_seconds, build_seconds) == max(start, 5.0) + 10 * 6.5


def test_staleness_shortens_the_path_but_not_below_what_one_context_must_do_in_order() -> None:
    paths = [path(rl_job(iterations=100, max_staleness=k), step_seconds, no_seconds) for k in range(4)]
    assert paths[0] > paths[1] >= paths[2] >= paths[3]
    assert paths[1] >= 100 * 6.5 / 2
    assert paths[3] >= 100 * 3.0


def test_the_binding_bound_of_one_job_is_the_job() -> None:
    bound = lower_bound([rl_job()], cluster(rollout=1, train=1, cpu=1), step_seconds, build_seconds)
    assert bound == Bound(5.0 + 65.0, "job gcd")


def test_the_binding_bound_of_many_jobs_is_the_busiest_pool_and_what_follows_its_last_task() -> None:
    jobs = [rl_job(name) for name in ("a", "b", "c")]
    bound = lower_bound(jobs, cluster(rollout=1, train=1, cpu=1), step_seconds, build_seconds)
    assert bound == Bound(3 * 35.0 + 1.0 + 2.0 + 0.5, "pool rollout")


def test_executors_of_a_pool_share_its_work() -> None:
    jobs = [rl_job(str(index)) for index in range(8)]
    bound = lower_bound(jobs, cluster(rollout=2, train=4, cpu=1), step_seconds, build_seconds)
    assert bound == Bound(8 * 35.0 / 2 + 3.5, "pool rollout")


def test_no_jobs_take_no_time() -> None:
    assert lower_bound([], cluster(cpu=1), step_seconds, no_seconds).seconds == 0.0


@pytest.mark.parametrize("iterations", [1, 2, 7])
@given(seconds=st.lists(st.floats(0.01, 100.0), min_size=4, max_size=4), max_staleness=st.integers(0, 3))
def test_a_path_is_at_least_one_cycle_and_at_most_all_tasks_in_a_row(
    iterations: int, seconds: list[float], max_staleness: int
) -> None:
    cost = dict(zip(SECONDS, seconds, strict=True))
    job = rl_job(iterations=iterations, max_staleness=max_staleness)
    shortest = path(job, lambda _, step: cost[step.name], no_seconds)
    cycle = sum(seconds)
    assert shortest >= cycle / (1 + max_staleness) * iterations - 1e-9
    assert shortest >= cycle - 1e-9
    assert shortest <= cost["propagate"] + cycle * iterations + 1e-9


def task(name: str, pool: str, *needs: str, slots: int = 1, also: tuple[str, ...] = ()) -> Step:
    return Step(name, StepKind.TASK, pool, "m:f", needs=tuple(map(Need, needs)), slots=slots, also_pools=also)


def bound_of(jobs: list[Job], machine: Cluster, seconds: dict[str, float]) -> Bound:
    return lower_bound(jobs, machine, lambda _, step: seconds[step.name], no_seconds)


def test_an_executor_waits_for_what_comes_before_its_first_task() -> None:
    jobs = [Job(name, 1, (task("before", "cpu"), task("work", "train", "before"))) for name in ("a", "b")]
    found = bound_of(jobs, cluster(cpu=2, train=1), {"before": 7.0, "work": 10.0})
    assert found == Bound(7.0 + 20.0, "pool train")


def test_the_best_set_of_tasks_is_found_whatever_else_the_executor_does() -> None:
    late = Job("late", 1, (task("before", "cpu"), task("work", "train", "before"), task("after", "cpu", "work")))
    early = Job("early", 1, (task("quick", "train"),))
    seconds = {"before": 7.0, "work": 10.0, "after": 30.0, "quick": 3.0}
    assert bound_of([late, late_twin(late), early], cluster(cpu=2, train=1), seconds).seconds == 7.0 + 20.0 + 30.0


def late_twin(job: Job) -> Job:
    return Job("twin", job.iterations, job.steps)


def test_a_gang_counts_as_often_as_it_is_wide() -> None:
    jobs = [Job(name, 1, (task("gang", "train", slots=2), task("single", "train"))) for name in ("a", "b")]
    assert bound_of(jobs, cluster(train=4), {"gang": 10.0, "single": 0.0}).seconds == 10.0
    assert bound_of(jobs, cluster(train=2), {"gang": 10.0, "single": 4.0}) == Bound((40.0 + 8.0) / 2, "pool train")


def test_gangs_that_need_more_than_half_a_pool_exclude_each_other() -> None:
    jobs = [Job(name, 1, (task("gang", "train", slots=2),)) for name in ("a", "b")]
    assert bound_of(jobs, cluster(train=3), {"gang": 10.0}) == Bound(20.0, "pool train")


def test_a_task_of_several_pools_is_work_for_each_of_them() -> None:
    jobs = [Job(name, 1, (task("sync", "train", also=("rollout",)),)) for name in ("a", "b", "c")]
    assert bound_of(jobs, cluster(train=3, rollout=1), {"sync": 10.0}) == Bound(30.0, "pool rollout")


def test_a_job_cannot_end_before_it_has_arrived() -> None:
    job = Job("late", 1, (task("work", "cpu"),))
    instance = Instance([job], cluster(cpu=1), lambda *_: 2.0, arrivals={"late": 100.0})
    assert tightest(instance).seconds == 102.0


def test_every_iteration_counts_with_its_own_seconds() -> None:
    def drawn(_: Job, task: TaskId, __: Step) -> float:
        return [5.0, 1.0, 9.0][task.iteration]

    assert tightest(Instance([Job("a", 3, (task("work", "cpu"),))], cluster(cpu=1), drawn)).seconds == 15.0


@pytest.mark.parametrize(("eviction", "extra"), [(Eviction.LAZY, 0.0), (Eviction.EAGER, 3 * (2.0 + 3.0))])
def test_a_context_that_leaves_after_each_task_must_come_back_before_the_next(eviction: Eviction, extra: float) -> None:
    step = Step("work", StepKind.TASK, "train", "m:f", "state")
    job = Job("a", 3, (step,), (Context("state", "m:f", "train"),))
    machine = Cluster(cluster(train=1).executors, eviction)
    instance = Instance([job], machine, lambda *_: 10.0, evict_seconds=_always(2.0), restore_seconds=_always(3.0))
    assert tightest(instance).seconds == 4 * 10.0 + extra


def test_a_version_of_the_weights_is_loaded_once() -> None:
    instance = Instance(
        [rl_job(iterations=5)], cluster(rollout=1, train=1, cpu=1), lambda *_: 1.0, load_seconds=_always(0.25)
    )
    assert tightest(instance).seconds == 2.0 + 5 * 4.25


def _always(seconds: float) -> Callable[[ContextId], float]:
    return lambda _: seconds
