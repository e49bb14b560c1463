"""A timeline as one JSON document, and what it is compared with.

Owns the shape behind `dagrl timeline --json`. Keys are only ever added; seconds and bytes are in the names; a number
that is not known is null; so is the speedup of a run that did not complete every job.

    makespan_seconds, sequential_seconds, sequential_is_measured, lower_bound_seconds, binding_bound, speedup
    computing_seconds, switching_seconds, switches, switched_bytes
    executors: [name, duty_cycle, computing_seconds, loading_seconds, switching_seconds, checkpointing_seconds,
                lost_seconds, waiting_seconds, idle_seconds, switches, saves, switched_bytes,
                spans: [kind, start, end, job, task, context, bytes, ok]]
    jobs:      [name, status, reason, iterations, iterations_done, elapsed_seconds, seconds_per_iteration,
                alone_seconds_per_iteration, slowdown, reward_name, metrics: {name: [[iteration, value], ...]},
                failures: [at, executor, what, error, log]]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from dagrl.model import JsonValue
from dagrl.timeline.fold import Timeline
from dagrl.timeline.lane import SWITCHING, Lane, Span, SpanKind
from dagrl.timeline.progress import JobProgress


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the same jobs would have taken otherwise, in seconds."""

    #: One job after the other on the same cluster.
    sequential_seconds: float
    #: What no schedule can beat, and what sets that limit: `pool train`, `job gcd`.
    lower_bound_seconds: float
    binding_bound: str
    #: Per job and iteration, alone on the same cluster, builds excluded.
    alone_seconds_per_iteration: Mapping[str, float] = field(default_factory=dict)
    #: Whether the sequential seconds were measured in a run of its own, and not simulated with this run's durations.
    sequential_is_measured: bool = False

    def speedup(self, makespan_seconds: float) -> float | None:
        """How many times shorter than one job after the other; None for a run that took no time."""
        return self.sequential_seconds / makespan_seconds if makespan_seconds > 0 else None

    def slowdown(self, job: JobProgress) -> float | None:
        """The job's time per iteration over the same alone, builds excluded; None when either is not known."""
        alone = self.alone_seconds_per_iteration.get(job.job.name)
        return None if not alone or job.seconds_per_iteration is None else job.seconds_per_iteration / alone

    def verdict(self, makespan_seconds: float) -> str:
        """`1.43x shorter`, or `1.05x as long` where sharing lost."""
        gain = self.speedup(makespan_seconds) or 1.0
        return f"{gain:.2f}x shorter" if gain >= 1 else f"{1 / gain:.2f}x as long"


def to_json(timeline: Timeline, comparison: Comparison | None = None) -> dict[str, JsonValue]:
    """The document, made of plain JSON values; a number that JSON cannot hold becomes null."""
    end = timeline.makespan_seconds
    lanes = timeline.lanes.values()
    return {
        "makespan_seconds": end,
        "sequential_seconds": comparison.sequential_seconds if comparison else None,
        "sequential_is_measured": comparison.sequential_is_measured if comparison else None,
        "lower_bound_seconds": comparison.lower_bound_seconds if comparison else None,
        "binding_bound": comparison.binding_bound if comparison else None,
        "speedup": comparison.speedup(end) if comparison and timeline.is_complete else None,
        "computing_seconds": timeline.computing_seconds,
        "switching_seconds": timeline.switching_seconds,
        "switches": sum(lane.switches for lane in lanes),
        "switched_bytes": sum(lane.bytes(*SWITCHING) for lane in lanes),
        "executors": [_executor(lane, end) for lane in lanes],
        "jobs": [_job(job, comparison) for job in timeline.jobs.values()],
    }


def _executor(lane: Lane, end: float) -> dict[str, JsonValue]:
    return {
        "name": lane.executor,
        "duty_cycle": lane.duty_cycle(end),
        "computing_seconds": lane.computing_seconds,
        "loading_seconds": lane.seconds(SpanKind.LOAD),
        "switching_seconds": lane.switching_seconds,
        "checkpointing_seconds": lane.seconds(SpanKind.CHECKPOINT),
        "lost_seconds": lane.seconds(SpanKind.LOST),
        "waiting_seconds": lane.waiting_seconds,
        "idle_seconds": lane.idle_seconds(end),
        "switches": lane.switches,
        "saves": lane.totals[SpanKind.SAVE].count,
        "switched_bytes": lane.bytes(*SWITCHING),
        "spans": [_span(span) for span in lane.spans],
    }


def _span(span: Span) -> dict[str, JsonValue]:
    return {
        "kind": span.kind.value,
        "start": span.start,
        "end": span.end,
        "job": span.job,
        "task": str(span.task) if span.task else None,
        "context": str(span.context) if span.context else None,
        "bytes": span.bytes,
        "ok": span.ok,
    }


def _job(job: JobProgress, comparison: Comparison | None) -> dict[str, JsonValue]:
    name = job.job.name
    return {
        "name": name,
        "status": job.status.value,
        "reason": job.reason,
        "iterations": job.job.iterations,
        "iterations_done": job.iterations_done,
        "elapsed_seconds": job.elapsed_seconds,
        "seconds_per_iteration": job.seconds_per_iteration,
        "alone_seconds_per_iteration": comparison.alone_seconds_per_iteration.get(name) if comparison else None,
        "slowdown": comparison.slowdown(job) if comparison else None,
        "reward_name": job.reward_name,
        "metrics": {metric: _history(values) for metric, values in job.metrics.items()},
        "failures": [asdict(failure) for failure in job.failures],
    }


def _history(values: Mapping[int, float]) -> list[JsonValue]:
    return [[iteration, value if math.isfinite(value) else None] for iteration, value in sorted(values.items())]
