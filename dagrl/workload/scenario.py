"""A workload that can be played, and what it costs to rent: what every reader and generator of workloads makes.

Owns the step from plain numbers (expected durations, seconds of switching) to the `Workload` that the simulator takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dagrl.bounds import Instance
from dagrl.estimates import Estimates
from dagrl.events import ContextEvicted, ContextRestored, ContextSaved, Event, WeightsLoaded
from dagrl.model import INIT_PREFIX, ContextId, Job, Step, TaskId
from dagrl.simulate import Workload

#: Stands where a job must name a callable: in virtual time nothing is called.
NO_CALLABLE = "dagrl.workload:nothing"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A workload with all its durations drawn."""

    workload: Workload
    #: Price of each executor; executors without one cost nothing that is known.
    dollars_per_hour: Mapping[str, float] = field(default_factory=dict)

    def instance(self) -> Instance:
        """What the lower bounds look at: all jobs but those that may leave early."""
        workload, expected = self.workload, self.workload.expected

        def task_seconds(job: Job, task: TaskId, step: Step) -> float:
            return workload.draw(task, expected.task_seconds(job.name, step))

        def of(event: type[Event]) -> Callable[[ContextId], float]:
            return lambda context: expected.operation_seconds(event, context)

        return Instance(
            [job for job in workload.jobs if job.name not in workload.departures],
            workload.cluster,
            task_seconds,
            workload.arrivals,
            evict_seconds=of(ContextEvicted),
            restore_seconds=of(ContextRestored),
            load_seconds=of(WeightsLoaded),
        )


@dataclass(frozen=True, slots=True)
class Source:
    """Where scenarios come from: one for each seed."""

    name: str
    at: Callable[[int], Scenario]
    #: What a reader should know about the numbers, one sentence each.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Switch:
    """Seconds of what can be done to a context."""

    init_seconds: float = 0.0
    #: Of copying it to the host, whether it then leaves its device or stays.
    save_seconds: float = 0.0
    restore_seconds: float = 0.0
    #: Of taking a version of the weights that a propagate has published.
    load_seconds: float = 0.0


def estimates(switches: Mapping[ContextId, Switch]) -> Estimates:
    """What a planner knows of switching; durations of steps stand in the steps themselves."""
    known = Estimates()
    for context, switch in switches.items():
        known.tasks[context.job, INIT_PREFIX + context.name].add(switch.init_seconds)
        known.operations[ContextSaved.__name__, context].add(switch.save_seconds)
        known.operations[ContextEvicted.__name__, context].add(switch.save_seconds)
        known.operations[ContextRestored.__name__, context].add(switch.restore_seconds)
        known.operations[WeightsLoaded.__name__, context].add(switch.load_seconds)
    return known
