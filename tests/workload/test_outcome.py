from __future__ import annotations

from dataclasses import replace

import pytest

from dagrl.estimates import Estimates
from dagrl.model import Job, Need, Step, StepKind
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.policy.sequential import SequentialPolicy
from dagrl.simulate import Workload
from dagrl.testing import cluster
from dagrl.workload import Scenario, Yardstick
from dagrl.workload.table6 import table6


def chain(name: str, iterations: int = 10) -> Job:
    steps = (
        Step("sample", StepKind.SAMPLE, "rollout", "m:f", expected_seconds=1.0),
        Step("train", StepKind.TRAIN, "train", "m:f", needs=(Need("sample"),), expected_seconds=1.0),
    )
    return Job(name, iterations, steps)


def scenario(*jobs: Job, **prices: float) -> Scenario:
    return Scenario(Workload(jobs, cluster("1 rollout 1 train"), Estimates()), prices)


def test_figures_of_two_jobs_that_fit_into_each_others_gaps() -> None:
    yardstick = Yardstick.of(scenario(chain("a"), chain("b"), rollout0=3.0, train0=7.0), seed=5)
    outcome, timeline = yardstick.measure("fifo", FifoPolicy())
    assert timeline.is_complete
    assert (outcome.policy, outcome.seed, outcome.makespan_seconds) == ("fifo", 5, 21.0)
    assert (outcome.lower_bound_seconds, outcome.ratio) == (21.0, 1.0)
    assert outcome.max_slowdown == pytest.approx(21 / 20)
    assert outcome.dollars_per_hour == 10.0
    assert outcome.dollars_per_work_hour == pytest.approx(10.0 * 21 / 40)


def test_one_job_after_the_other_costs_what_each_alone_does() -> None:
    outcome, _ = Yardstick.of(scenario(chain("a"), chain("b"), rollout0=3.0), 0).measure("s", SequentialPolicy())
    assert outcome.dollars_per_work_hour == pytest.approx(3.0)
    assert outcome.mean_slowdown == pytest.approx(1.5)


def test_a_job_that_leaves_counts_for_what_it_did_and_not_in_the_bound() -> None:
    base = scenario(chain("stays"), chain("leaves", 100))
    leaving = replace(base, workload=replace(base.workload, departures={"leaves": 10.0}))
    outcome, timeline = Yardstick.of(leaving, 0).measure("fifo", FifoPolicy())
    assert timeline.jobs["stays"].iterations_done == 10
    assert timeline.jobs["leaves"].iterations_done < 10
    assert outcome.lower_bound_seconds == 20.0
    assert outcome.max_slowdown is not None
    assert outcome.max_slowdown < 3


def test_a_job_that_leaves_before_it_did_anything_has_no_slowdown() -> None:
    base = scenario(chain("only"))
    leaving = replace(base, workload=replace(base.workload, departures={"only": 0.5}))
    outcome, _ = Yardstick.of(leaving, 0).measure("fifo", FifoPolicy())
    assert (outcome.mean_slowdown, outcome.max_slowdown, outcome.ratio) == (None, None, None)
    assert outcome.dollars_per_hour is None


def test_slicing_one_executor_gains_nothing_without_waits_elsewhere() -> None:
    step = Step("work", StepKind.TASK, "train", "m:f", expected_seconds=1.0)
    jobs = [Job(name, 5, (step,)) for name in ("a", "b")]
    yardstick = Yardstick.of(Scenario(Workload(jobs, cluster("1 train"), Estimates())), 0)
    makespans = [yardstick.measure("p", policy)[0].makespan_seconds for policy in (SequentialPolicy(), FifoPolicy())]
    assert makespans == [10.0, 10.0]


def test_the_list_policy_is_planned_before_it_plays() -> None:
    yardstick = Yardstick.of(table6("table6:shared-warm:3x3").at(0), 0)
    fifo, listed = (yardstick.measure(name, policy)[0] for name, policy in (("f", FifoPolicy()), ("l", ListPolicy())))
    assert listed.makespan_seconds <= fifo.makespan_seconds * 1.02
