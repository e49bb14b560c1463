from __future__ import annotations

import pytest

from dagrl.errors import InvariantError
from dagrl.estimates import Estimates
from dagrl.events import End
from dagrl.model import JobStatus
from dagrl.policy import Candidate, Queue, Rank
from dagrl.policy.exclusive import ExclusivePolicy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.policy.sequential import SequentialPolicy
from dagrl.simulate import Workload, makespan, play, simulate
from dagrl.testing import cluster, grpo, solo

POOLS = cluster("1 rollout 1 train 1 cpu")


def test_a_job_alone_takes_the_sum_of_its_path() -> None:
    records = simulate([grpo("a", 10, (1.0, 0.25, 2.0))], POOLS, ListPolicy(), Estimates())
    assert makespan(records) == pytest.approx(32.5)


def test_two_balanced_jobs_fill_each_others_gaps() -> None:
    jobs = [grpo("a", 10, (1.0, 0.0, 1.0)), grpo("b", 10, (1.0, 0.0, 1.0))]
    assert makespan(simulate(jobs, POOLS, SequentialPolicy(), Estimates())) == pytest.approx(40.0)
    assert makespan(simulate(jobs, POOLS, ListPolicy(), Estimates())) == pytest.approx(21.0)


def test_one_executor_gains_nothing_from_slicing() -> None:
    jobs, alone = [solo("a", 5), solo("b", 5)], cluster("1 train")
    assert makespan(simulate(jobs, alone, ListPolicy(), Estimates())) == pytest.approx(10.0)
    assert makespan(simulate(jobs, alone, SequentialPolicy(), Estimates())) == pytest.approx(10.0)


def test_dedicated_executors_serve_as_many_jobs_at_once_as_there_are_sets() -> None:
    jobs = [grpo(name, 10, (1.0, 0.0, 1.0)) for name in "abcd"]
    pairs = cluster("2 rollout 2 train 1 cpu")
    assert makespan(simulate(jobs, pairs, ExclusivePolicy(), Estimates())) == pytest.approx(40.0)
    assert makespan(simulate(jobs, POOLS, ExclusivePolicy(), Estimates())) == pytest.approx(80.0)


def test_staleness_lets_sampling_and_training_overlap() -> None:
    synchronous, stale = grpo("a", 20, (1.0, 0.0, 1.0)), grpo("a", 20, (1.0, 0.0, 1.0), max_staleness=1)
    assert makespan(simulate([synchronous], POOLS, ListPolicy(), Estimates())) == pytest.approx(40.0)
    assert makespan(simulate([stale], POOLS, ListPolicy(), Estimates())) == pytest.approx(21.0)


def test_learned_latencies_are_part_of_a_plan() -> None:
    known = Estimates()
    known.dispatch.add(0.5)
    known.report.add(0.25)
    records = simulate([solo("a", 4)], cluster("1 train"), ListPolicy(), known)
    assert makespan(records) == pytest.approx(4 * 1.0 + (1 + 4 + 1) * 0.75)


def test_simulating_teaches_the_callers_estimates_nothing() -> None:
    known = Estimates()
    simulate([solo("a")], POOLS, ListPolicy(), known)
    assert not known.tasks


def test_a_policy_that_never_starts_anything_is_an_error() -> None:
    class Idle:
        def rank(self, candidate: Candidate) -> Rank:
            return (candidate.ready_at,)

        def choose(self, queue: Queue) -> Candidate | None:
            return queue.best(0)[0] if not len(queue) else None

    with pytest.raises(InvariantError, match=r"unfinished jobs; ready: a/start/init\.state"):
        simulate([solo("a")], POOLS, Idle(), Estimates())


def test_a_job_arrives_when_it_is_said_to() -> None:
    workload = Workload([solo("a", 2), solo("b", 2)], cluster("2 train"), Estimates(), arrivals={"b": 7.0})
    assert makespan(list(play(workload, ListPolicy()))) == pytest.approx(9.0)


def test_a_departure_ends_a_job_and_frees_its_executor_at_once() -> None:
    workload = Workload([solo("a", 9), solo("b", 2)], cluster("1 train"), Estimates(), departures={"a": 0.5})
    records = list(play(workload, ExclusivePolicy()))
    ends = {
        decision.job: decision.status
        for record in records
        for decision in record.decisions
        if isinstance(decision, End)
    }
    assert ends == {"a": JobStatus.CANCELLED, "b": JobStatus.DONE}
    assert makespan(records) == pytest.approx(2.5)


def test_what_a_task_really_takes_is_drawn() -> None:
    workload = Workload([solo("a", 3)], cluster("1 train"), Estimates(), draw=lambda task, _: task.iteration + 1.0)
    assert makespan(list(play(workload, ListPolicy()))) == pytest.approx(0.0 + 1.0 + 2.0 + 3.0)


def test_polling_delays_what_follows_to_the_next_look() -> None:
    workload = Workload([solo("a", 3)], cluster("1 train"), Estimates(), polling_seconds=4.0)
    assert makespan(list(play(workload, ListPolicy()))) == pytest.approx(12.0)
