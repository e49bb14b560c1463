from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.estimates import Estimates
from dagrl.events import ContextRestored
from dagrl.model import ContextId
from dagrl.planner import plan, refine
from dagrl.policy import Policy
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.policy.round_robin import RoundRobinPolicy
from dagrl.simulate import Workload, makespan, play
from dagrl.testing import cluster, grpo

CLUSTER = cluster("1 rollout 1 train 1 cpu", memory_bytes=1)
phase = st.floats(1.0, 50.0)


def seconds(workload: Workload, policy: Policy) -> float:
    return makespan(list(play(workload, policy)))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(phase, phase, st.floats(0.0, 5.0)), min_size=2, max_size=4))
def test_a_plan_is_never_worse_than_what_it_was_chosen_from(phases: list[tuple[float, float, float]]) -> None:
    known = Estimates()
    jobs = [grpo(f"j{n}", 4, (sample, 0.0, train), memory_bytes=1) for n, (sample, train, _) in enumerate(phases)]
    for job, (_, _, switch) in zip(jobs, phases, strict=True):
        known.operations[ContextRestored.__name__, ContextId(job.name, "actor")].add(switch)
    workload = Workload(jobs, CLUSTER, known)
    planned = seconds(workload, plan(workload))
    for policy in (FifoPolicy(), RoundRobinPolicy(), ListPolicy()):
        assert planned <= seconds(workload, policy) + 1e-9


def test_equal_workloads_get_equal_plans() -> None:
    jobs = [grpo("a", 6, (3.0, 0.0, 1.0)), grpo("b", 6, (1.0, 0.0, 2.0))]
    assert plan(Workload(jobs, CLUSTER, Estimates())) == plan(Workload(jobs, CLUSTER, Estimates()))


def test_a_plan_of_long_jobs_looks_at_the_same_share_of_each() -> None:
    long = [grpo("a", 40_000, (3.0, 0.0, 1.0)), grpo("b", 20_000, (1.0, 0.0, 2.0))]
    assert isinstance(plan(Workload(long, CLUSTER, Estimates())), FifoPolicy | RoundRobinPolicy | ListPolicy)


def test_only_the_list_policy_is_planned() -> None:
    workload = Workload([grpo("a")], CLUSTER, Estimates())
    fifo = FifoPolicy()
    assert refine(fifo, workload) is fifo
