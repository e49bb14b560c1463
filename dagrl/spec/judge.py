"""All judges of a document, in order: its shape, its names, its functions, its DAG.

Owns what one document comes to: a job, and all faults that were found on the way. Each judge looks at what the ones
before it left over, so one mistake does not hide the next; and none complains about what another one refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path as FilePath

from dagrl import graph
from dagrl.errors import Fault
from dagrl.model import Cluster, Job
from dagrl.spec.callables import Callables
from dagrl.spec.loader import Document
from dagrl.spec.places import Path
from dagrl.spec.reading import Reading, read_as
from dagrl.spec.recipe import HERE as RECIPE_KEY
from dagrl.spec.references import Survey, check_references
from dagrl.spec.resolve import resolve_cluster, resolve_job
from dagrl.spec.schema import ClusterSpec, JobSpec
from dagrl.spec.sources import Sources


def judge_job(
    document: Document, base: FilePath, sources: Sources, cluster: Cluster | None
) -> tuple[Job | None, list[Fault]]:
    """A document's job and all that is wrong with it; recipe and matrix are expanded already."""
    if document.data is None and document.faults:
        return None, document.faults
    if _has(document, "executors") and not _has(document, "steps"):
        return None, [document.places.at_value((), "this is a cluster file, not a job: name it with --cluster")]
    reading = read_as(JobSpec, document.data, document.places)
    faults = [*document.faults, *reading.faults]
    if reading.value is None:
        return None, faults
    callables = Callables(base, document.places, sources)
    callables.check(reading.value, reading.removed)
    faults += [*check_references(_survey(document, reading, reading.value)), *callables.faults]
    job = resolve_job(reading.value, callables.full)
    no_pool = reading.removed | {("steps", step.name, "pool") for step in job.steps if not step.pool}
    for fault in graph.check(job, cluster):
        if fault.path not in no_pool and not (faults and _says_something_is_missing(fault)):
            faults.append(document.places.at_value(fault.path, fault.message))
    return job, faults


def judge_cluster(document: Document) -> tuple[Cluster | None, list[Fault]]:
    """A document's cluster and all that is wrong with it."""
    if document.data is None and document.faults:
        return None, document.faults
    if _has(document, "steps") and not _has(document, "executors"):
        return None, [document.places.at_value((), "this is a job, not a cluster file: it declares no executors")]
    reading = read_as(ClusterSpec, document.data, document.places)
    faults = [*document.faults, *reading.faults]
    if reading.value is None:
        return None, faults
    if not reading.value.executors and not reading.removed:
        faults.append(document.places.at_key(("executors",), "no executors: a cluster needs at least one"))
    cluster = resolve_cluster(reading.value)
    return cluster, [*faults, *_same_names(document, reading.value)]


def _has(document: Document, key: str) -> bool:
    return isinstance(document.data, dict) and key in document.data


def _survey(document: Document, reading: Reading[JobSpec], spec: JobSpec) -> Survey:
    def declared(section: str) -> Collection[str] | None:
        here: Path = (section,)
        told = here in reading.removed or document.places.was_refused(here)
        entries = document.data.get(section) if isinstance(document.data, dict) else None
        return None if told or document.places.was_refused(RECIPE_KEY) else tuple(entries or ())

    return Survey(spec, document.places, reading.removed, declared("steps"), declared("contexts"))


def _says_something_is_missing(fault: graph.GraphFault) -> bool:
    """Whether it may only seem so because something faulty was left out."""
    match fault.path:
        case ("contexts", _) | ("contexts", _, "on_evict"):
            return True
        case _:
            return False


def _same_names(document: Document, spec: ClusterSpec) -> Iterator[Fault]:
    owners: dict[str, str] = {}
    for entry, executors in spec.executors.items():
        for executor in resolve_cluster(ClusterSpec(version=1, executors={entry: executors})).executors:
            first = owners.setdefault(executor.name, entry)
            if first != entry:
                message = f"makes an executor {executor.name!r}, as {first!r} does"
                yield document.places.at_key(("executors", entry), message)
