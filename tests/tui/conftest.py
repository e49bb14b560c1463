from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console, RenderableType

from dagrl.events import (
    ContextCheckpointed,
    ContextEvicted,
    ContextRestored,
    ContextSaved,
    Decision,
    End,
    Event,
    JobSubmitted,
    Record,
    Run,
    TaskFailed,
    TaskFinished,
)
from dagrl.model import Context, ContextId, Job, JobStatus, Need, Step, StepKind, TaskId
from dagrl.timeline import Timeline


def _job(name: str) -> Job:
    sample = Step("sample", StepKind.SAMPLE, "rollout", run="m:sample", context="sampler")
    train = Step("train", StepKind.TRAIN, "train", run="m:train", needs=(Need("sample"),))
    return Job(name, 10, (sample, train), (Context("sampler", "m:build", "rollout"),))


def _finished(task: str, executor: str, start: float, end: float, reward: float | None = None) -> TaskFinished:
    metrics = () if reward is None else (("reward", reward),)
    return TaskFinished(end, TaskId.parse(task), 1, executor, start, end, metrics=metrics, resident_bytes=1024)


@pytest.fixture
def records() -> list[Record]:
    """Two jobs, gcd for 10 iterations and spell until it fails in its fifth, on rollout0 and train0."""
    gcd, spell = ContextId("gcd", "sampler"), ContextId("spell", "sampler")

    def then(event: Event, *decisions: Decision) -> Record:
        return Record(event, decisions)

    told = [then(JobSubmitted(0.0, _job("gcd"))), then(JobSubmitted(0.0, _job("spell")))]
    for i in range(10):
        at = 4.0 * i
        told += [
            then(_finished(f"gcd/{i}/sample", "rollout0", at, at + 1.9, i / 10)),
            then(ContextSaved(at + 1.95, gcd, "rollout0", at + 1.9, at + 1.95, 2048)),
            then(_finished(f"gcd/{i}/train", "train0", at + 2, at + 3)),
        ]
        if i < 4:
            told += [
                then(ContextEvicted(at + 2, gcd, "rollout0", at + 1.95, at + 2, 2048)),
                then(_finished(f"spell/{i}/sample", "rollout0", at + 2, at + 3.9, 100.0 + i)),
                then(ContextRestored(at + 4, gcd, "rollout0", at + 3.9, at + 4, 2048)),
                then(_finished(f"spell/{i}/train", "train0", at + 3.9, at + 4)),
            ]
    error = TaskFailed(18.0, TaskId("spell", 4, "sample"), 1, "rollout0", 18.0, 20.0, "ValueError: no such word")
    told.insert(12 + 2 * 10, then(error, End("spell", JobStatus.FAILED, "spell/4/sample: ValueError: no such word")))
    told += [
        then(ContextRestored(40.0, spell, "rollout0", 39.95, 40.0, 2048)),
        then(ContextCheckpointed(42.0, gcd, "rollout0", 9, 40.0, 42.0, "checkpoints/gcd/9", "ab", 4096)),
    ]
    told.append(then(_finished("gcd/start/init.sampler", "rollout0", 42.0, 42.5), End("gcd", JobStatus.DONE)))
    return told


@pytest.fixture
def timeline(records: list[Record]) -> Timeline:
    return Timeline.of(records, ["rollout0", "train0", "cpu0"])


@pytest.fixture
def complete(timeline: Timeline) -> Timeline:
    """The same, had spell been meant to end there."""
    timeline.jobs["spell"].status = JobStatus.DONE
    return timeline


@pytest.fixture
def under_way(records: list[Record]) -> Timeline:
    """The same after 8 seconds, while the third iteration of gcd is sampled."""
    seen = [record for record in records if record.event.at <= 8.0]
    seen.append(Record(seen[-1].event, (Run(TaskId("gcd", 2, "sample"), 1, "rollout0"),)))
    return Timeline.of(
        [*seen[:-1], Record(JobSubmitted(8.0, _job("late")), seen[-1].decisions)], ["rollout0", "train0"]
    )


@pytest.fixture
def shown() -> Callable[..., list[str]]:
    """What a renderable looks like without colour, line by line."""

    def show(renderable: RenderableType, *, width: int = 80, encoding: str = "utf-8") -> list[str]:
        buffer = io.BytesIO()
        file = io.TextIOWrapper(buffer, encoding=encoding)
        Console(file=file, width=width, no_color=True, legacy_windows=False).print(renderable)
        file.flush()
        return buffer.getvalue().decode(encoding).splitlines()

    return show
