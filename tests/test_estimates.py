from __future__ import annotations

import pytest

from dagrl.estimates import UNKNOWN_SECONDS, Estimates, observe
from dagrl.events import ContextSaved, JobSubmitted, Record, Run, TaskFinished
from dagrl.model import ContextId, Step, StepKind, TaskId
from dagrl.testing import solo


def finished(started: float, seconds: float, *, at: float | None = None, size: int | None = None) -> TaskFinished:
    end = started + seconds
    return TaskFinished(at or end, TaskId("a", 0, "work"), 1, "train0", started, end, resident_bytes=size)


def test_a_duration_is_the_mean_of_what_was_seen() -> None:
    known = Estimates()
    known.saw(finished(0.0, 1.0))
    known.saw(finished(5.0, 3.0))
    assert known.task_seconds("a", solo("a").steps[0]) == 2.0


def test_a_spec_guesses_until_something_is_seen() -> None:
    guess, none = Step("s", StepKind.TRAIN, "p", expected_seconds=7.0), Step("s", StepKind.TRAIN, "p")
    assert Estimates().task_seconds("a", guess) == 7.0
    assert Estimates().task_seconds("a", none) == UNKNOWN_SECONDS
    assert Estimates().task_seconds("a", Step("p", StepKind.PROPAGATE, "p")) == 0.0


def test_a_job_is_known_when_every_step_is() -> None:
    job = solo("a")
    assert Estimates().knows(job)
    unguessed = Step("work", StepKind.TASK, "train", "m:f", "state")
    job = type(job)(job.name, 1, (unguessed,), job.contexts)
    known = Estimates()
    assert not known.knows(job)
    known.saw(finished(0.0, 1.0))
    assert known.knows(job)


def test_operations_are_kept_by_kind_and_context() -> None:
    known, context = Estimates(), ContextId("a", "state")
    known.saw(ContextSaved(0.5, context, "train0", 0.0, 0.5, 10))
    assert known.operation_seconds(ContextSaved, context) == 0.5
    assert known.operation_seconds(ContextSaved, ContextId("b", "state")) == 0.0


def test_the_latency_around_operations_is_learned_from_a_run() -> None:
    run = Run(TaskId("a", 0, "work"), 1, "train0")
    records = [
        Record(JobSubmitted(0.0, solo("a")), (run,)),
        Record(finished(0.25, 1.0, at=1.5, size=64), (run,)),
        Record(finished(2.0, 1.0, at=3.25, size=32)),
    ]
    seen = observe(records)
    assert seen.dispatch.value == pytest.approx((0.25 + 0.5) / 2)
    assert seen.report.value == pytest.approx(0.25)
    assert seen.resident_bytes == {ContextId("a", "state"): 64}


def test_one_jobs_lessons_can_be_taken_over() -> None:
    known, other = Estimates(), Estimates()
    other.saw(finished(0.0, 4.0))
    known.take("b", other)
    assert not known.tasks
    known.take("a", other)
    assert known.task_seconds("a", solo("a").steps[0]) == 4.0
