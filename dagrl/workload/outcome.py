"""What came of a scenario under a policy: the figures that `dagrl simulate` prints, and how they are made.

Owns the comparison with the lower bound and with each job alone, and the dollars. A run's other numbers are the
timeline's. Nothing here depends on the policy but what was played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from dagrl.bounds import Bound, tightest
from dagrl.model import JsonValue
from dagrl.planner import refine
from dagrl.policy import Policy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.simulate import play
from dagrl.timeline import JobProgress, Timeline
from dagrl.workload.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Outcome:
    """One policy on one seed; a number that is not known is None."""

    policy: str
    seed: int
    #: When the last operation ended, since the beginning.
    makespan_seconds: float
    lower_bound_seconds: float
    binding_bound: str
    #: How often a context that had left its device was brought back.
    switches: int
    #: Saving, evicting and restoring, on all executors together.
    switch_seconds: float
    #: A job's time from arrival to end over its time alone on the same executors; of one that left, for what it did.
    mean_slowdown: float | None
    max_slowdown: float | None
    #: The rent of all executors that have a price.
    dollars_per_hour: float | None
    #: The rent for the makespan over the hours that all jobs' work takes alone, one job after the other.
    dollars_per_work_hour: float | None

    @property
    def ratio(self) -> float | None:
        """The makespan over the lower bound; None where that is 0."""
        return self.makespan_seconds / self.lower_bound_seconds if self.lower_bound_seconds > 0 else None

    def to_json(self) -> dict[str, JsonValue]:
        """One object with a key per figure."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What all policies are measured with on one seed: the bound, and each job's seconds alone."""

    scenario: Scenario
    seed: int
    bound: Bound
    alone_seconds: Mapping[str, float]

    @classmethod
    def of(cls, scenario: Scenario, seed: int) -> Yardstick:
        """Bound the scenario and play each of its jobs alone."""
        alone = {job.name: _alone(scenario, job.name) for job in scenario.workload.jobs}
        return cls(scenario, seed, tightest(scenario.instance()), alone)

    def measure(self, name: str, policy: Policy) -> tuple[Outcome, Timeline]:
        """Play the scenario under a policy, planned first if the policy can be, on expected durations.

        Raises InvariantError if the policy leaves jobs unfinished for ever.
        """
        timeline = played(self.scenario, refine(policy, self.scenario.workload))
        jobs, alone = timeline.jobs.values(), self.alone_seconds
        slowdowns = [found for job in jobs if (found := _slowdown(job, alone[job.job.name])) is not None]
        lanes = timeline.lanes.values()
        rent = sum(self.scenario.dollars_per_hour.values()) if self.scenario.dollars_per_hour else None
        work = sum(alone[job.job.name] * job.share_done for job in jobs)
        return Outcome(
            policy=name,
            seed=self.seed,
            makespan_seconds=timeline.makespan_seconds,
            lower_bound_seconds=self.bound.seconds,
            binding_bound=self.bound.binding,
            switches=sum(lane.switches for lane in lanes),
            switch_seconds=timeline.switching_seconds,
            mean_slowdown=fmean(slowdowns) if slowdowns else None,
            max_slowdown=max(slowdowns, default=None),
            dollars_per_hour=rent,
            dollars_per_work_hour=rent * timeline.makespan_seconds / work if rent is not None and work > 0 else None,
        ), timeline


def played(scenario: Scenario, policy: Policy) -> Timeline:
    """The timeline of a scenario under a policy."""
    return Timeline.of(
        play(scenario.workload, policy), [executor.name for executor in scenario.workload.cluster.executors]
    )


def _alone(scenario: Scenario, name: str) -> float:
    jobs = [job for job in scenario.workload.jobs if job.name == name]
    workload = replace(scenario.workload, jobs=jobs, arrivals={}, departures={})
    return played(replace(scenario, workload=workload), ListPolicy()).makespan_seconds


def _slowdown(job: JobProgress, alone_seconds: float) -> float | None:
    """None for a job that left before it had done anything, and for one that takes no time."""
    alone = alone_seconds * job.share_done
    return job.elapsed_seconds / alone if alone > 0 else None
