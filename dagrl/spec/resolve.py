"""From a checked spec to `dagrl.model`: pools filled in, callables full references.

The last step of the funnel, and the only one that knows both sides. A name that leads nowhere is left out, so that what
is left of a faulty spec can be looked at too; nobody runs such a job, because its faults are raised.
"""

from __future__ import annotations

from collections.abc import Mapping

from dagrl.model import Cluster, Context, ExecutorSpec, Job, Step, StepKind
from dagrl.spec.references import pool_of
from dagrl.spec.schema import ClusterSpec, ExecutorsSpec, JobSpec, StepSpec


def resolve_job(spec: JobSpec, callables: Mapping[str, str]) -> Job:
    """The job that a spec declares; `callables` maps each reference in it to a full one."""
    return Job(
        name=spec.job,
        iterations=spec.iterations,
        steps=tuple(_step(name, step, spec, callables) for name, step in spec.steps.items()),
        contexts=tuple(
            Context(name, callables.get(context.build, context.build), context.pool, context.on_evict, context.memory)
            for name, context in spec.contexts.items()
        ),
        max_staleness=spec.max_staleness,
        seed=spec.seed,
        priority=spec.priority,
        weight=spec.weight,
        threads=spec.threads,
        params=spec.params,
        checkpoint_every=spec.checkpoint.every if spec.checkpoint else None,
    )


def _step(name: str, step: StepSpec, spec: JobSpec, callables: Mapping[str, str]) -> Step:
    propagate = step.kind is StepKind.PROPAGATE
    context = step.source if propagate else step.context
    return Step(
        name=name,
        kind=step.kind,
        pool=pool_of(step, spec) or "",
        run=callables.get(step.run, step.run) if step.run else None,
        context=context if context in spec.contexts else None,
        needs=tuple(dict.fromkeys(need for need in step.needs if need.step in spec.steps)),
        targets=tuple(target for target in step.target if propagate and target in spec.contexts),
        timeout_seconds=step.timeout,
        expected_seconds=step.expected_seconds,
    )


def resolve_cluster(spec: ClusterSpec) -> Cluster:
    """The cluster that a file declares."""
    executors = [executor for name, entry in spec.executors.items() for executor in _executors(name, entry)]
    return Cluster(tuple(executors), spec.eviction)


def _executors(name: str, entry: ExecutorsSpec) -> list[ExecutorSpec]:
    if entry.count is None:
        return [ExecutorSpec(name, entry.pool, entry.device, entry.kind, entry.memory)]
    return [
        ExecutorSpec(
            f"{name}{index}",
            entry.pool,
            f"cuda:{index}" if entry.device == "cuda" else entry.device,
            entry.kind,
            entry.memory,
        )
        for index in range(entry.count)
    ]
