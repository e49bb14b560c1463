"""The one funnel from outside to inside: YAML or a Python mapping in, frozen jobs and clusters out.

Every fault of every file is found before anything is refused, and one SpecError carries them all. Nothing of the user's
is run on the way, and torch is never imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from dagrl.errors import Fault, SpecError
from dagrl.model import Cluster, Job
from dagrl.spec.fields import JOB_NAME
from dagrl.spec.judge import judge_cluster, judge_job
from dagrl.spec.loader import Document, read_document
from dagrl.spec.matrix import expand_matrix
from dagrl.spec.places import Places
from dagrl.spec.plain import PlainReader
from dagrl.spec.recipe import expand_recipe
from dagrl.spec.sources import Sources

__all__ = ["example_spec", "job_from_mapping", "load_cluster", "load_jobs", "load_workload"]


def load_jobs(paths: Sequence[Path], cluster: Cluster | None = None) -> tuple[Job, ...]:
    """The jobs of all these spec files; with a cluster, also checked against it.

    Raises SpecError with all faults of all files.
    """
    jobs, faults = _jobs_in(paths, cluster)
    if faults:
        raise SpecError(faults)
    return jobs


def load_cluster(path: Path) -> Cluster:
    """The cluster of a cluster file. Raises SpecError with all its faults."""
    cluster, faults = judge_cluster(read_document(path))
    if cluster is None or faults:
        raise SpecError(faults)
    return cluster


def load_workload(paths: Sequence[Path], cluster_path: Path) -> tuple[tuple[Job, ...], Cluster]:
    """Jobs and the cluster that they shall run on. Raises SpecError with all faults of all files at once."""
    cluster, cluster_faults = judge_cluster(read_document(cluster_path))
    jobs, faults = _jobs_in(paths, None if cluster_faults else cluster)
    if cluster is None or cluster_faults or faults:
        raise SpecError([*cluster_faults, *faults])
    return jobs, cluster


def job_from_mapping(data: Mapping[str, object], origin: str, base: Path, cluster: Cluster | None = None) -> Job:
    """The job of a mapping in a spec's form; files in it are relative to `base`, faults name `origin`.

    Raises SpecError with all faults.
    """
    reader = PlainReader(Places(origin))
    plain = reader.read({key: value for key, value in data.items() if key != "matrix"})
    if "matrix" in data:
        reader.faults.append(reader.places.at_key(("matrix",), "a job from Python is one job: make many in a loop"))
    document = expand_recipe(Document(plain, reader.places, reader.faults))
    job, faults = judge_job(document, base, Sources(), cluster)
    if job is None or faults:
        raise SpecError(faults)
    return job


def example_spec() -> str:
    """A commented spec in which every key is explained: what `dagrl init` writes."""
    return files(__name__).joinpath("example.yaml").read_text(encoding="utf-8")


def _jobs_in(paths: Sequence[Path], cluster: Cluster | None) -> tuple[tuple[Job, ...], list[Fault]]:
    sources = Sources()
    jobs: list[Job] = []
    faults: list[Fault] = []
    documents: list[Document] = []
    for path in paths:
        for document in expand_matrix(expand_recipe(read_document(path))):
            job, found = judge_job(document, path.parent, sources, cluster)
            jobs += [job] if job else []
            faults += found
            documents.append(document)
    return tuple(jobs), faults + _same_names(documents)


def _same_names(documents: Sequence[Document]) -> list[Fault]:
    faults = []
    first: dict[str, Fault] = {}
    for document in documents:
        name = document.data.get("job") if isinstance(document.data, dict) else None
        if not isinstance(name, str) or not JOB_NAME.fullmatch(name):
            continue
        place = document.places.at_value(("job",), "")
        if name in first:
            other = first[name]
            message = f"a second job {name!r}: the first is at {other.file}:{other.line}:{other.column}"
            faults.append(document.places.at_value(("job",), message))
        first.setdefault(name, place)
    return faults
