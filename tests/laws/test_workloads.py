"""Laws of every workload: files with chance, arrivals and switching in them, played under every policy."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.bounds import tightest
from dagrl.plugins import load_plugin, plugins
from dagrl.policy import Policy
from dagrl.workload import played
from dagrl.workload.resolve import workload_file

amounts = st.floats(0.0, 9.0).map(lambda value: round(value, 2))
durations = st.one_of(
    amounts,
    st.builds(lambda mean, cv: {"mean": mean, "cv": cv}, amounts.map(lambda value: value + 0.1), st.floats(0.0, 1.0)),
    st.builds(lambda low, more: {"uniform": [low, low + more]}, amounts, amounts),
    st.builds(lambda median: {"lognormal": {"median": median, "sigma": 0.8}}, amounts),
)
policies: st.SearchStrategy[Policy] = st.sampled_from(sorted(plugins("dagrl.policies"))).map(
    lambda name: load_plugin("dagrl.policies", name, "policy")()
)


@st.composite
def contexts(draw: st.DrawFn, pool: str) -> dict[str, Any]:
    names = ("init_seconds", "save_seconds", "restore_seconds", "load_seconds")
    return {"pool": pool, "memory": draw(st.integers(1, 3)), **{name: draw(amounts) for name in names}}


@st.composite
def jobs(draw: st.DrawFn, width: int) -> dict[str, Any]:
    both = draw(st.sampled_from([[], ["rollout"]]))
    steps = {
        "sample": {"kind": "sample", "context": "sampler", "seconds": draw(durations)},
        "score": {
            "kind": "reward",
            "pool": draw(st.sampled_from(["train", "cpu"])),
            "needs": ["sample"],
            "slots": draw(st.integers(1, width)),
            "seconds": draw(durations),
        },
        "train": {"kind": "train", "context": "actor", "needs": ["score"], "seconds": draw(durations)},
        "sync": {
            "kind": "propagate",
            "source": "actor",
            "target": "sampler",
            "needs": ["train"],
            "also_pools": both,
            "seconds": draw(durations),
        },
    }
    return {
        "iterations": draw(st.integers(1, 4)),
        "arrival_seconds": draw(st.sampled_from([0.0, 3.5, 40.0])),
        "max_staleness": draw(st.integers(0, 2)),
        "contexts": {"actor": draw(contexts("train")), "sampler": draw(contexts("rollout"))},
        "steps": steps,
    }


@st.composite
def workloads(draw: st.DrawFn) -> dict[str, Any]:
    width = draw(st.integers(1, 3))
    pools = {pool: {"pool": pool, "count": width, "memory": draw(st.integers(3, 6))} for pool in ("rollout", "train")}
    return {
        "version": 1,
        "eviction": draw(st.sampled_from(["lazy", "eager"])),
        "polling_seconds": draw(st.sampled_from([0.0, 1.0])),
        "executors": {**pools, "cpu": {"pool": "cpu", "count": width}},
        "jobs": {name: draw(jobs(width)) for name in ("a", "b", "c")[: draw(st.integers(1, 3))]},
    }


@settings(max_examples=150, deadline=None)
@given(workloads(), policies, st.integers(0, 3))
def test_no_schedule_beats_the_bound_of_the_durations_that_were_drawn(
    data: dict[str, Any], policy: Policy, seed: int
) -> None:
    scenario = workload_file(data, "w").at(seed)
    timeline = played(scenario, policy)
    assert timeline.is_complete
    assert timeline.makespan_seconds >= tightest(scenario.instance()).seconds - 1e-6


@settings(max_examples=40, deadline=None)
@given(workloads(), st.integers(0, 3))
def test_policies_meet_the_same_durations(data: dict[str, Any], seed: int) -> None:
    worked = set()
    for name in ("fifo", "round-robin", "sequential"):
        timeline = played(workload_file(data, "w").at(seed), load_plugin("dagrl.policies", name, "policy")())
        spans = [(str(s.task), round(s.seconds, 6)) for lane in timeline.lanes.values() for s in lane.spans if s.task]
        worked.add(tuple(sorted(spans)))
    assert len(worked) == 1
