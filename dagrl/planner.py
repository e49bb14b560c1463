"""Finds the weights of the list policy that suit a workload, by simulating it.

A plan publishes weights only, never start times, so that durations which turn out otherwise cannot break it. It looks
at a small portfolio, with fifo and round-robin in it, and is never worse than any of them on expected durations; then
it searches on from the best by changing a few weights at a time (random keys: Bean 1994), for a number of simulations
that depends on the size of the workload alone, so that equal workloads get equal plans.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from dagrl.model import Job
from dagrl.policy import Policy
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.policy.round_robin import RoundRobinPolicy
from dagrl.simulate import Workload, play

#: Tasks that a plan looks at; of longer jobs, the same share of each.
HORIZON_TASKS = 600

#: Tasks that a plan simulates altogether: about two seconds on one core.
BUDGET_TASKS = 12_000

#: At most so many simulations, however small the workload.
MOST_SIMULATIONS = 150

_SWITCH_WEIGHTS = (4.0, 1.0, 16.0)
_TASK_WEIGHTS = (2.0, 0.0, 0.5, -0.5, -2.0)


def refine(policy: Policy, workload: Workload) -> Policy:
    """The policy to use for a workload: for the list policy the best that a plan finds, else the policy itself."""
    return plan(workload) if isinstance(policy, ListPolicy) else policy


def plan(workload: Workload) -> Policy:
    """The policy with the shortest makespan on expected durations, among portfolio and search."""
    horizon = _horizon(workload)
    simulations = min(MOST_SIMULATIONS, max(1, BUDGET_TASKS // _tasks(horizon.jobs)))
    best: Policy = ListPolicy()
    shortest = _makespan(horizon, best)
    for candidate, _ in zip(_portfolio(), range(simulations - 1), strict=False):
        seconds = _makespan(horizon, candidate)
        if seconds < shortest:
            best, shortest = candidate, seconds
    chance = random.Random(len(horizon.jobs))
    for _ in range(simulations - len(list(_portfolio())) - 1):
        candidate = _changed(best if isinstance(best, ListPolicy) else ListPolicy(), horizon.jobs, chance)
        seconds = _makespan(horizon, candidate)
        if seconds <= shortest:
            best, shortest = candidate, seconds
    return best


def _portfolio() -> Iterator[Policy]:
    yield FifoPolicy()
    yield RoundRobinPolicy()
    for switch_weight in _SWITCH_WEIGHTS:
        for task_weight in _TASK_WEIGHTS:
            if (switch_weight, task_weight) != (_SWITCH_WEIGHTS[0], _TASK_WEIGHTS[0]):
                yield ListPolicy(switch_weight, task_weight)


def _changed(policy: ListPolicy, jobs: Sequence[Job], chance: random.Random) -> ListPolicy:
    weights = dict(policy.job_weights)
    for job in chance.sample(list(jobs), min(len(jobs), chance.choice([1, 1, 2]))):
        weights[job.name] = weights.get(job.name, 1.0) * math.exp(chance.gauss(0, 0.5))
    switch_weight = policy.switch_weight * math.exp(chance.gauss(0, 0.3))
    return ListPolicy(switch_weight, policy.task_weight + chance.gauss(0, 0.3), weights)


def _horizon(workload: Workload) -> Workload:
    share = min(1.0, HORIZON_TASKS / _tasks(workload.jobs))
    jobs = [replace(job, iterations=ceil(job.iterations * share)) for job in workload.jobs]
    return Workload(jobs, workload.cluster, workload.expected, workload.arrivals)


def _tasks(jobs: Sequence[Job]) -> int:
    return sum(job.iterations * len(job.steps) for job in jobs) or 1


def _makespan(workload: Workload, policy: Policy) -> float:
    last = 0.0
    for record in play(workload, policy):
        last = record.event.at
    return last
