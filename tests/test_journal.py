from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagrl.digest import job_digest
from dagrl.errors import MachineError, UsageError
from dagrl.estimates import Estimates
from dagrl.events import (
    DECISIONS,
    EVENTS,
    ContextCheckpointed,
    Decision,
    Event,
    JobSubmitted,
    Record,
    Run,
    TaskFailed,
    TaskFinished,
)
from dagrl.journal import Journal, decode, encode
from dagrl.model import ArtifactRef, ContextId, JobStatus, TaskId
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.simulate import simulate
from dagrl.testing import cluster, grpo, solo

POOLS = cluster("1 rollout 1 train 1 cpu")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.create(tmp_path / "journal.db", {"policy": "list"})


@given(st.one_of(*[st.from_type(kind) for kind in (*EVENTS, *DECISIONS) if kind is not JobSubmitted]))
def test_every_event_and_decision_survives_the_journal(item: Event | Decision) -> None:
    assert encode(decode(type(item).__name__, encode(item))) == encode(item)


def test_a_job_survives_the_journal() -> None:
    event = JobSubmitted(0.5, grpo("a", max_staleness=1, memory_bytes=7))
    assert decode("JobSubmitted", encode(event)) == event


def test_records_come_back_as_they_were_appended(tmp_path: Path) -> None:
    records = simulate([grpo("a"), solo("b")], POOLS, ListPolicy(), Estimates())
    journal = Journal.create(tmp_path / "journal.db", {})
    for record in records:
        journal.append(record)
    journal.close()
    assert list(Journal.read(tmp_path / "journal.db").records()) == records


def test_tables_say_how_jobs_and_tasks_ended(journal: Journal) -> None:
    for record in simulate([solo("a")], POOLS, ListPolicy(), Estimates()):
        journal.append(record)
    assert journal.jobs() == {"a": (JobStatus.DONE, "")}
    assert journal.submitted_jobs() == [solo("a")]


def test_a_failed_attempt_keeps_its_error(journal: Journal) -> None:
    task = TaskId("a", 0, "work")
    journal.append(Record(JobSubmitted(0.0, solo("a")), (Run(task, 1, "train0"),)))
    journal.append(Record(TaskFailed(1.0, task, 1, "train0", 0.0, 1.0, "ValueError: no")))
    rows = list(journal._db.query("select state, error from tasks"))
    assert rows == [{"state": "failed", "error": "ValueError: no"}]


def test_metrics_keep_every_bit_and_not_a_number(journal: Journal) -> None:
    values = (("tiny", 5e-324), ("third", 1 / 3), ("huge", math.inf), ("lost", math.nan))
    done = TaskFinished(1.0, TaskId("a", 0, "train"), 1, "train0", 0.0, 1.0, ArtifactRef("x.json", 3), values)
    journal.append(Record(done))
    stored = {name: value for _, name, value in journal.metrics("a")}
    assert math.isnan(stored.pop("lost"))
    assert stored == {"tiny": 5e-324, "third": 1 / 3, "huge": math.inf}
    [record] = journal.records()
    assert isinstance(record.event, TaskFinished)
    assert math.isnan(record.event.metrics[3][1])


def test_a_record_is_stored_whole_or_not_at_all(journal: Journal) -> None:
    task = Run(TaskId("a", 0, "work"), 1, "train0")
    journal.append(Record(JobSubmitted(0.0, solo("a")), (task,)))
    with pytest.raises(sqlite3.IntegrityError):
        journal.append(Record(JobSubmitted(0.0, solo("b")), (task,)))
    assert list(journal.jobs()) == ["a"]
    assert len(list(journal.records())) == 1


def test_a_digest_covers_contexts_and_metrics(tmp_path: Path) -> None:
    def digest(name: str, context: str, reward: float) -> str:
        journal = Journal.create(tmp_path / name, {})
        journal.append(Record(JobSubmitted(0.0, solo("a"))))
        task = TaskId("a", 0, "work")
        journal.append(Record(TaskFinished(1.0, task, 1, "train0", 0.0, 1.0, metrics=(("reward", reward),))))
        done = ContextCheckpointed(2.0, ContextId("a", "state"), "train0", 0, 1.0, 2.0, "p", context, 9)
        journal.append(Record(done))
        return job_digest(journal, "a").job

    assert digest("1", "abc", 0.5) == digest("2", "abc", 0.5)
    assert digest("3", "abd", 0.5) != digest("1b", "abc", 0.5)
    assert digest("4", "abc", math.nextafter(0.5, 1)) != digest("1c", "abc", 0.5)


def test_the_newest_checkpoint_of_a_context_counts(journal: Journal) -> None:
    context = ContextId("a", "state")
    for iteration, digest in ((1, "old"), (3, "new"), (2, "between")):
        done = ContextCheckpointed(2.0, context, "train0", iteration, 1.0, 2.0, f"{iteration}", digest, 9)
        journal.append(Record(done))
    assert journal.checkpoints("a") == {"state": {"iteration": 3, "path": "3", "digest": "new", "bytes": 9}}


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        Journal.read(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at as one" * 9)
    with pytest.raises(UsageError, match="is no journal"):
        Journal.read(tmp_path / "text.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(UsageError, match="is no journal"):
        Journal.read(tmp_path / "empty.db")
    later = Journal.create(tmp_path / "later.db", {})
    later.note({"schema_version": 99})
    with pytest.raises(UsageError, match="schema version 99"):
        Journal.read(tmp_path / "later.db")


def test_a_journal_is_never_overwritten_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    Journal.create(tmp_path / "journal.db", {})
    assert (tmp_path / "journal.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists already"):
        Journal.create(tmp_path / "journal.db", {})


def test_a_full_disk_is_the_machines_fault_and_keeps_what_was_written(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journal.db", {})
    journal._db.execute("pragma max_page_count = 20")
    records = simulate([solo("a", 200)], POOLS, ListPolicy(), Estimates())
    with pytest.raises(MachineError, match="cannot write the run's journal: database or disk is full"):
        list(map(journal.append, records))
    kept = list(journal.records())
    assert kept == records[: len(kept)]
    assert kept
