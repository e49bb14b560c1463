"""What stands behind the words after `dagrl simulate`: told by the content of a file, never by its name.

Owns the choice between workload files, recorded traces, job-shop instances, specs and the generators of published
tables. Specs that are named together make one workload; each other file or table is one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dagrl.cluster import this_machine
from dagrl.errors import Fault, SpecError, UsageError
from dagrl.history import learn
from dagrl.model import JsonValue
from dagrl.run_directory import newest_runs
from dagrl.simulate import Workload
from dagrl.spec import load_jobs, load_workload
from dagrl.spec.loader import shown_file
from dagrl.workload.jobshop import is_jobshop, jobshop
from dagrl.workload.llmd import is_llmd, llmd
from dagrl.workload.reading import read_json
from dagrl.workload.resolve import workload_file
from dagrl.workload.scenario import Scenario, Source
from dagrl.workload.table6 import is_table6, table6


def open_sources(words: Sequence[str], cluster: Path | None = None) -> list[Source]:
    """All workloads that are named, specs last; `cluster` is what specs run on, this machine if left out.

    Raises SpecError with all faults of the first file that cannot be read, and UsageError for a cluster nobody needs.
    """
    sources: list[Source] = []
    specs: list[Path] = []
    for word in words:
        if is_table6(word):
            sources.append(table6(word))
        elif (text := _json_text(word)) is not None and not _is_spec(data := read_json(text, word)):
            sources.append(_recorded(data, word))
        else:
            specs.append(Path(word))
    if specs:
        sources.append(_specs(specs, cluster))
    elif cluster is not None:
        raise UsageError("--cluster is for specs: every other workload brings its own executors")
    return sources


def _json_text(word: str) -> str | None:
    """The text of a file that holds a JSON mapping or list; None for any other, which is read as a spec."""
    try:
        text = Path(word).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    return text if text.lstrip()[:1] in {"{", "["} else None


def _is_spec(data: JsonValue) -> bool:
    return isinstance(data, dict) and ("job" in data or "recipe" in data)


def _recorded(data: JsonValue, file: str) -> Source:
    if is_jobshop(data):
        return jobshop(data, file)
    if isinstance(data, dict) and {"executors", "jobs"} & data.keys():
        return workload_file(data, file)
    if is_llmd(data):
        return llmd(data, file)
    kinds = (
        "a workload file (executors, jobs), a job-shop instance (machines, jobs, data), a recorded run (phases, locks)"
    )
    raise SpecError([Fault(file, 0, 0, "", f"is JSON, but neither {kinds} nor a spec (job, steps)")])


def _specs(paths: list[Path], cluster: Path | None) -> Source:
    if cluster is not None:
        jobs, machine = load_workload(paths, cluster)
    else:
        jobs = load_jobs(paths)
        machine = this_machine(jobs)
    known, origins = learn(jobs, newest_runs())
    notes = tuple(_origin(job.name, origins.get(job.name), known=known.knows(job)) for job in jobs)
    scenario = Scenario(Workload(jobs, machine, known))
    return Source(", ".join(map(shown_file, paths)), lambda _seed: scenario, notes)


def _origin(job: str, run: Path | None, *, known: bool) -> str:
    if run is not None:
        return f"durations of {job}: {run}"
    return f"durations of {job}: {'expected_seconds of the spec' if known else 'not known: 1 s taken for each step'}"
