"""From a workload file's model to scenarios: the last step of the funnel, and the only one that knows both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from dagrl.errors import Fault, SpecError
from dagrl.graph import check
from dagrl.model import START, Cluster, Context, ContextId, ExecutorSpec, Job, JsonValue, Step, StepKind
from dagrl.simulate import Workload
from dagrl.spec.places import shown
from dagrl.workload.draws import Draw, Duration, Listed
from dagrl.workload.reading import read_workload_file
from dagrl.workload.references import check_names, context_of, pool_of
from dagrl.workload.scenario import NO_CALLABLE, Scenario, Source, Switch, estimates
from dagrl.workload.schema import ExecutorsEntry, JobEntry, StepEntry, WorkloadFile

_Durations: TypeAlias = dict[tuple[str, str], Duration]


def workload_file(data: JsonValue, file: str) -> Source:
    """The scenarios of a workload file; a seed changes only what is drawn. Raises SpecError with all faults."""
    document = read_workload_file(data, file)
    faults = list(check_names(document, file))
    if faults:
        raise SpecError(faults)
    cluster = _cluster(document)
    jobs = [_job(name, entry) for name, entry in document.jobs.items()]
    for job in jobs:
        found = [Fault(file, 0, 0, shown(("jobs", job.name, *each.path)), each.message) for each in check(job, cluster)]
        faults += found
    if faults:
        raise SpecError(faults)
    return Source(file, _Scenarios(document, cluster, jobs).at)


class _Scenarios:
    """What is the same for all seeds."""

    def __init__(self, document: WorkloadFile, cluster: Cluster, jobs: list[Job]) -> None:
        self._durations: _Durations = {
            (name, step): _duration(entry) for name, job in document.jobs.items() for step, entry in job.steps.items()
        }
        entries = document.jobs
        self._workload = Workload(
            jobs,
            cluster,
            estimates(_switches(entries)),
            arrivals={name: job.arrival_seconds for name, job in entries.items() if job.arrival_seconds},
            departures={
                name: job.departure_seconds for name, job in entries.items() if job.departure_seconds is not None
            },
            polling_seconds=document.polling_seconds,
        )
        self._dollars = {
            executor.name: entry.dollars_per_hour
            for name, entry in document.executors.items()
            for executor in _executors(name, entry)
            if entry.dollars_per_hour is not None
        }

    def at(self, seed: int) -> Scenario:
        return Scenario(replace(self._workload, draw=Draw(seed, self._durations)), self._dollars)


def _duration(entry: StepEntry) -> Duration:
    if isinstance(entry.seconds, Listed) and entry.kind is StepKind.PROPAGATE:
        return replace(entry.seconds, first=START)
    return entry.seconds


def _cluster(document: WorkloadFile) -> Cluster:
    executors = [executor for name, entry in document.executors.items() for executor in _executors(name, entry)]
    return Cluster(tuple(executors), document.eviction)


def _executors(name: str, entry: ExecutorsEntry) -> list[ExecutorSpec]:
    names = [name] if entry.count is None else [f"{name}{index}" for index in range(entry.count)]
    return [ExecutorSpec(each, entry.pool, memory_bytes=entry.memory) for each in names]


def _job(name: str, entry: JobEntry) -> Job:
    return Job(
        name,
        entry.iterations,
        tuple(_step(step_name, step, entry) for step_name, step in entry.steps.items()),
        tuple(
            Context(context_name, NO_CALLABLE, context.pool, context.on_evict, context.memory)
            for context_name, context in entry.contexts.items()
        ),
        max_staleness=entry.max_staleness,
        priority=entry.priority,
        weight=entry.weight,
    )


def _step(name: str, entry: StepEntry, job: JobEntry) -> Step:
    return Step(
        name,
        entry.kind,
        pool_of(entry, job),
        None if entry.kind is StepKind.PROPAGATE else NO_CALLABLE,
        context_of(entry),
        entry.needs,
        entry.target,
        expected_seconds=entry.seconds.mean_seconds,
        slots=entry.slots,
        also_pools=entry.also_pools,
    )


def _switches(jobs: Mapping[str, JobEntry]) -> dict[ContextId, Switch]:
    return {
        ContextId(name, context_name): Switch(
            context.init_seconds, context.save_seconds, context.restore_seconds, context.load_seconds
        )
        for name, job in jobs.items()
        for context_name, context in job.contexts.items()
    }
