"""The SQLite record of a run: every event, every decision, and tables that answer questions about them.

Owns the file and its schema; decides nothing. A record is appended before any of its decisions takes effect, in one
transaction with the rows that follow from it. Replaying the records through a fresh scheduler gives the same
decisions. sqlite-utils is used here and nowhere else; the one hot statement goes through its plain `execute`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import nan
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from sqlite_utils import Database

from dagrl.errors import MachineError, UsageError
from dagrl.events import (
    DECISIONS,
    EVENTS,
    ContextCheckpointed,
    Decision,
    End,
    Event,
    JobSubmitted,
    Record,
    Run,
    TaskFailed,
    TaskFinished,
)
from dagrl.model import Cluster, Job, JobStatus, TaskId

SCHEMA_VERSION = 1

_ADAPTERS: dict[str, TypeAdapter[Any]] = {kind.__name__: TypeAdapter(kind) for kind in (*EVENTS, *DECISIONS)}

_CLUSTER = TypeAdapter(Cluster)

_SCHEMA = """
create table run (key text primary key, value text not null) strict;
create table records (seq integer primary key, at real not null, event text not null, body text not null,
    decisions text not null) strict;
create table jobs (name text primary key, status text not null, reason text not null) strict;
create table tasks (job text not null, iteration integer not null, step text not null, attempt integer not null,
    executor text not null, state text not null, started real, finished real, artifact text, bytes integer, error text,
    primary key (job, iteration, step, attempt)) strict;
create table metrics (job text not null, iteration integer not null, step text not null, name text not null,
    value real, primary key (job, iteration, step, name)) strict;
create table checkpoints (job text not null, context text not null, iteration integer not null, path text not null,
    digest text not null, bytes integer not null, primary key (job, context, iteration)) strict;
"""


def encode(item: Event | Decision) -> str:
    """An event or decision as JSON text; numbers may be NaN or infinite, as Python's json writes them."""
    return json.dumps(_ADAPTERS[type(item).__name__].dump_python(item))


def decode(kind: str, text: str) -> Any:
    """What `encode` wrote, `kind` being the class name. Raises KeyError for a kind that does not exist."""
    return _ADAPTERS[kind].validate_json(text)


class Journal:
    """The journal of one run. It belongs to the thread that made it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = Database(connection)

    @classmethod
    def create(cls, path: Path, facts: Mapping[str, Any]) -> Journal:
        """A new journal, with facts about the run as JSON values. Raises UsageError if the file exists."""
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            raise UsageError(f"{path} exists already; every run needs a directory of its own") from None
        journal = cls(sqlite3.connect(path, isolation_level=None))
        journal._db.enable_wal()
        journal._db.execute("pragma synchronous = normal")
        journal._db.executescript(_SCHEMA)
        journal.note({"schema_version": SCHEMA_VERSION, **facts})
        return journal

    @classmethod
    def read(cls, path: Path) -> Journal:
        """An existing journal, to read from. Raises UsageError if it is none, or of another version."""
        if not path.is_file():
            raise UsageError(f"{path} does not exist")
        try:
            journal = cls(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True))
            version = journal.facts().get("schema_version")
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{path} is no journal of a run: {error}") from None
        if version != SCHEMA_VERSION:
            raise UsageError(f"{path} has schema version {version}, this dagrl reads {SCHEMA_VERSION}")
        return journal

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def note(self, facts: Mapping[str, Any]) -> None:
        """Store facts about the run as JSON values, replacing those of the same name."""
        self._db.table("run").upsert_all(
            [{"key": key, "value": json.dumps(value)} for key, value in facts.items()], pk="key"
        )

    def facts(self) -> dict[str, Any]:
        """The facts about the run."""
        return {row["key"]: json.loads(row["value"]) for row in self._db.query("select key, value from run")}

    def append(self, record: Record) -> None:
        """Store a record and the rows that follow from it, all or nothing.

        Raises MachineError if it cannot be written: nothing that was decided may then be done.
        """
        try:
            self._append(record)
        except sqlite3.OperationalError as error:
            raise MachineError(f"cannot write the run's journal: {error}; all that it holds so far is sound") from error

    def _append(self, record: Record) -> None:
        execute = self._db.execute
        decisions = [[type(decision).__name__, encode(decision)] for decision in record.decisions]
        execute("begin immediate")
        try:
            execute(
                "insert into records (at, event, body, decisions) values (?, ?, ?, ?)",
                (record.event.at, type(record.event).__name__, encode(record.event), json.dumps(decisions)),
            )
            self._note_event(record.event)
            for decision in record.decisions:
                self._note_decision(decision)
            execute("commit")
        except BaseException:
            with suppress(sqlite3.OperationalError):
                execute("rollback")
            raise

    def records(self) -> Iterator[Record]:
        """All records, oldest first. Raises UsageError at the first that is damaged."""
        number = 0
        try:
            for row in self._db.query("select event, body, decisions from records order by seq"):
                decisions = tuple(decode(kind, body) for kind, body in json.loads(row["decisions"]))
                yield Record(decode(row["event"], row["body"]), decisions)
                number += 1
        except (ValueError, KeyError, sqlite3.DatabaseError) as error:
            said = str(error).splitlines()[0]
            raise UsageError(f"the journal is damaged after {number} records: {said}") from error

    def cluster(self) -> Cluster:
        """The cluster that the run was started on."""
        cluster: Cluster = _CLUSTER.validate_python(self.facts()["cluster"])
        return cluster

    def submitted_jobs(self) -> list[Job]:
        """The jobs of the run as they were submitted."""
        rows = self._db.query("select body from records where event = 'JobSubmitted' order by seq")
        return [decode("JobSubmitted", row["body"]).job for row in rows]

    def jobs(self) -> dict[str, tuple[JobStatus, str]]:
        """Status and reason per job, in the order of submission."""
        rows = self._db.query("select name, status, reason from jobs order by rowid")
        return {row["name"]: (JobStatus(row["status"]), row["reason"]) for row in rows}

    def metrics(self, job: str) -> list[tuple[TaskId, str, float]]:
        """All numbers that a job logged, by iteration, step and name. SQLite keeps NaN as NULL."""
        rows = self._db.query(
            "select iteration, step, name, value from metrics where job = ? order by iteration, step, name", [job]
        )
        return [
            (TaskId(job, row["iteration"], row["step"]), row["name"], nan if row["value"] is None else row["value"])
            for row in rows
        ]

    def checkpoints(self, job: str) -> dict[str, dict[str, Any]]:
        """The newest checkpoint of each context of a job: iteration, path, digest and bytes."""
        rows = self._db.query(
            "select context, max(iteration) as iteration, path, digest, bytes from checkpoints where job = ? "
            "group by context order by context",
            [job],
        )
        return {row.pop("context"): row for row in rows}

    def _note_event(self, event: Event) -> None:
        match event:
            case JobSubmitted(job=job):
                self._db.execute("insert into jobs values (?, ?, '')", (job.name, JobStatus.RUNNING))
            case TaskFinished(task=task):
                path, size = (event.artifact.path, event.artifact.bytes) if event.artifact else (None, None)
                self._db.execute(
                    "update tasks set state = 'finished', started = ?, finished = ?, artifact = ?, bytes = ? "
                    "where (job, iteration, step, attempt) = (?, ?, ?, ?)",
                    (event.started, event.finished, path, size, task.job, task.iteration, task.step, event.attempt),
                )
                self._db.conn.executemany(
                    "insert or replace into metrics values (?, ?, ?, ?, ?)",
                    [(task.job, task.iteration, task.step, name, value) for name, value in event.metrics],
                )
            case TaskFailed(task=task):
                self._db.execute(
                    "update tasks set state = 'failed', started = ?, finished = ?, error = ? "
                    "where (job, iteration, step, attempt) = (?, ?, ?, ?)",
                    (event.started, event.finished, event.error, task.job, task.iteration, task.step, event.attempt),
                )
            case ContextCheckpointed(context=context):
                self._db.execute(
                    "insert or replace into checkpoints values (?, ?, ?, ?, ?, ?)",
                    (context.job, context.name, event.iteration, event.path, event.digest, event.bytes),
                )
            case _:
                return

    def _note_decision(self, decision: Decision) -> None:
        match decision:
            case Run(task=task):
                self._db.execute(
                    "insert into tasks (job, iteration, step, attempt, executor, state) "
                    "values (?, ?, ?, ?, ?, 'running')",
                    (task.job, task.iteration, task.step, decision.attempt, decision.executor),
                )
            case End():
                self._db.execute(
                    "update jobs set status = ?, reason = ? where name = ?",
                    (decision.status, decision.reason, decision.job),
                )
            case _:
                return
