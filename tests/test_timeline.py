from __future__ import annotations

import json
import math

import pytest

from dagrl.events import (
    Cancel,
    Checkpoint,
    ContextCheckpointed,
    ContextDropped,
    ContextEvicted,
    ContextFaulted,
    ContextRestored,
    ContextSaved,
    Decision,
    Drop,
    End,
    Event,
    Evict,
    ExecutorLost,
    JobCancelled,
    JobSubmitted,
    Load,
    Record,
    Restore,
    Run,
    Save,
    TaskFailed,
    TaskFinished,
    WeightsLoaded,
)
from dagrl.model import Context, ContextId, Job, JobStatus, Need, Step, StepKind, TaskId
from dagrl.timeline import Comparison, SpanKind, Timeline, to_json

ACTOR = ContextId("gcd", "actor")
OTHER = ContextId("spell", "actor")


def job(name: str = "gcd", iterations: int = 2) -> Job:
    reward = Step("reward", StepKind.REWARD, "cpu", run="m:reward")
    train = Step("train", StepKind.TRAIN, "gpu", run="m:train", context="actor", needs=(Need("reward"),))
    return Job(name, iterations, (reward, train), (Context("actor", "m:build", "gpu"),))


def finished(task: str, start: float, end: float, executor: str = "gpu0", **metrics: float) -> TaskFinished:
    return TaskFinished(
        end, TaskId.parse(task), 1, executor, start, end, metrics=tuple(metrics.items()), resident_bytes=64
    )


def run(task: str, executor: str = "gpu0") -> Run:
    return Run(TaskId.parse(task), 1, executor)


def timeline(*records: Record | Event, jobs: tuple[Job, ...] = (job(),), executors: tuple[str, ...] = ()) -> Timeline:
    submitted = [Record(JobSubmitted(0.0, each)) for each in jobs]
    return Timeline.of([*submitted, *(r if isinstance(r, Record) else Record(r) for r in records)], executors)


def after(at: float, *decisions: Decision) -> Record:
    """A record in which something else happened, for the sake of its decisions."""
    return Record(ContextDropped(at, ContextId("gcd", "none"), "elsewhere"), decisions)


def test_a_finished_task_is_a_computing_span_of_its_executor() -> None:
    span = timeline(finished("gcd/0/train", 1.0, 3.0)).lanes["gpu0"].spans[0]
    assert (span.kind, span.start, span.end, span.job, span.label) == (SpanKind.COMPUTE, 1.0, 3.0, "gcd", "train")
    assert span.context == ACTOR
    assert span.ok


def test_executors_named_at_the_start_have_lanes_in_that_order_even_if_they_never_work() -> None:
    seen = timeline(finished("gcd/0/train", 0.0, 1.0, "b"), executors=("c", "b"))
    assert list(seen.lanes) == ["c", "b"]
    assert seen.lanes["c"].idle_seconds(seen.makespan_seconds) == 1.0


def test_all_kinds_of_seconds_add_up_to_the_whole_time() -> None:
    seen = timeline(
        finished("gcd/start/init.actor", 1.0, 2.0),
        ContextSaved(2.5, ACTOR, "gpu0", 2.0, 2.5, 10),
        ContextEvicted(2.75, ACTOR, "gpu0", 2.5, 2.75, 20),
        ContextRestored(5.0, ACTOR, "gpu0", 4.0, 5.0, 30),
        WeightsLoaded(5.5, ACTOR, "gpu0", 1, 5.0, 5.5, 7),
        finished("gcd/0/train", 5.5, 8.0),
        ContextCheckpointed(9.0, ACTOR, "gpu0", 0, 8.0, 9.0, "checkpoints/x", "abc", 40),
        finished("gcd/0/reward", 9.0, 12.0, "cpu0"),
    )
    lane, end = seen.lanes["gpu0"], seen.makespan_seconds
    assert end == 12.0
    assert lane.computing_seconds == 1.0 + 0.5 + 2.5
    assert lane.seconds(SpanKind.LOAD) == 0.5
    assert lane.switching_seconds == 0.5 + 0.25 + 1.0
    assert lane.seconds(SpanKind.CHECKPOINT) == 1.0
    assert lane.waiting_seconds == 4.0 - 2.75
    assert lane.idle_seconds(end) == 1.0 + 3.0
    parts = (lane.computing_seconds, lane.switching_seconds, 1.0, lane.waiting_seconds, lane.idle_seconds(end))
    assert sum(parts) == end
    assert lane.duty_cycle(end) == 4.0 / 12.0


def test_a_switch_is_counted_when_a_context_comes_back() -> None:
    lane = timeline(
        ContextSaved(1.0, ACTOR, "gpu0", 0.0, 1.0, 10),
        ContextEvicted(2.0, ACTOR, "gpu0", 1.0, 2.0, 10),
        ContextRestored(3.0, ACTOR, "gpu0", 2.0, 3.0, 10),
    ).lanes["gpu0"]
    assert lane.switches == 1
    assert lane.bytes(SpanKind.SAVE, SpanKind.EVICT, SpanKind.RESTORE) == 30


def test_a_run_in_which_nothing_happened_has_no_duty_cycle() -> None:
    seen = timeline(executors=("gpu0",))
    assert seen.makespan_seconds == 0.0
    assert seen.lanes["gpu0"].duty_cycle(0.0) == 0.0
    assert seen.lanes["gpu0"].waiting_seconds == 0.0


def test_what_runs_now_is_the_first_decision_that_has_not_been_reported() -> None:
    records = [after(1.0, Save(OTHER, "gpu0"), Restore(ACTOR, "gpu0"), run("gcd/0/train"))]
    running = timeline(*records, jobs=(job(), job("spell"))).lanes["gpu0"].running
    assert running is not None
    assert (running.verb, running.subject, running.since) == ("save", "spell/actor", 1.0)

    records.append(Record(ContextSaved(1.5, OTHER, "gpu0", 1.0, 1.5, 10)))
    running = timeline(*records, jobs=(job(), job("spell"))).lanes["gpu0"].running
    assert running is not None
    assert (running.verb, running.subject, running.job, running.since) == ("restore", "gcd/actor", "gcd", 1.5)

    records += [Record(ContextRestored(2.0, ACTOR, "gpu0", 1.5, 2.0, 10)), Record(finished("gcd/0/train", 2.0, 3.0))]
    assert timeline(*records, jobs=(job(), job("spell"))).lanes["gpu0"].running is None


def test_an_operation_that_told_nothing_is_struck_when_a_later_one_reports() -> None:
    lane = timeline(after(0.0, Drop(ACTOR, "gpu0"), run("gcd/1/train")), finished("gcd/1/train", 0.5, 1.0)).lanes[
        "gpu0"
    ]
    assert lane.running is None


def test_a_request_to_cancel_is_no_operation_of_the_executor() -> None:
    lane = timeline(after(0.0, run("gcd/0/train"), Cancel(TaskId("gcd", 0, "train"), 1, "gpu0"))).lanes["gpu0"]
    assert [pending.verb for pending in lane.pending] == ["run"]


def test_every_reported_operation_settles_its_decision() -> None:
    decided = after(
        0.0,
        Evict(ACTOR, "gpu0"),
        Load(ACTOR, "gpu0", "propagate", 1),
        Checkpoint(ACTOR, "gpu0", 0),
        Drop(ACTOR, "gpu0"),
    )
    lane = timeline(
        decided,
        ContextEvicted(1.0, ACTOR, "gpu0", 0.0, 1.0, 1),
        WeightsLoaded(2.0, ACTOR, "gpu0", 1, 1.0, 2.0, 1),
        ContextCheckpointed(3.0, ACTOR, "gpu0", 0, 2.0, 3.0, "p", "d", 1),
        ContextDropped(3.0, ACTOR, "gpu0"),
    ).lanes["gpu0"]
    assert not lane.pending


def test_a_context_is_resident_from_its_build_until_it_is_evicted_and_again_once_restored() -> None:
    records: list[Record | Event] = [finished("gcd/start/init.actor", 0.0, 1.0)]
    assert timeline(*records).resident[ACTOR].executor == "gpu0"
    assert timeline(*records).resident[ACTOR].bytes == 64

    records.append(ContextEvicted(2.0, ACTOR, "gpu0", 1.0, 2.0, 10))
    assert ACTOR not in timeline(*records).resident

    records.append(ContextRestored(3.0, ACTOR, "gpu0", 2.0, 3.0, 10))
    assert timeline(*records).resident[ACTOR].bytes == 64

    records.append(ContextDropped(4.0, ACTOR, "gpu0"))
    assert not timeline(*records).resident


def test_a_task_without_a_context_makes_nothing_resident() -> None:
    assert not timeline(finished("gcd/0/reward", 0.0, 1.0, "cpu0")).resident


def test_a_job_has_reached_an_iteration_when_all_its_steps_are_done() -> None:
    progress = timeline(
        finished("gcd/0/reward", 1.0, 2.0), finished("gcd/0/train", 2.0, 4.0), finished("gcd/1/reward", 4.0, 5.0)
    ).jobs["gcd"]
    assert progress.iterations_done == 1
    assert progress.share_done == 0.75
    assert progress.seconds_per_iteration == 3.0
    assert progress.status is JobStatus.RUNNING


def test_builds_count_neither_as_progress_nor_in_the_seconds_per_iteration() -> None:
    progress = timeline(finished("gcd/start/init.actor", 0.0, 9.0)).jobs["gcd"]
    assert progress.tasks_done == 0
    assert progress.seconds_per_iteration is None
    assert progress.elapsed_seconds == 9.0


def test_a_job_ends_as_the_scheduler_says() -> None:
    seen = timeline(Record(finished("gcd/1/train", 0.0, 1.0), (End("gcd", JobStatus.DONE),)))
    assert seen.jobs["gcd"].status is JobStatus.DONE

    seen = timeline(Record(JobCancelled(1.0, "gcd", "by hand"), (End("gcd", JobStatus.CANCELLED, "by hand"),)))
    assert (seen.jobs["gcd"].status, seen.jobs["gcd"].reason) == (JobStatus.CANCELLED, "by hand")


def test_metrics_keep_their_history_by_iteration_whatever_order_they_came_in() -> None:
    progress = timeline(
        finished("gcd/1/reward", 1.0, 2.0, reward=0.75, length=4.0), finished("gcd/0/reward", 0.0, 1.0, reward=0.5)
    ).jobs["gcd"]
    assert progress.reward_name == "reward"
    assert progress.rewards == [0.5, 0.75]
    assert progress.metrics["length"] == {1: 4.0}


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("loss", "reward", "reward_std"), "reward"),
        (("loss", "mean_reward"), "mean_reward"),
        (("loss", "episode_return"), "episode_return"),
        (("loss", "length"), "loss"),
        ((), None),
    ],
)
def test_the_metric_to_show_first_is_the_reward(names: tuple[str, ...], shown: str | None) -> None:
    progress = timeline(finished("gcd/0/reward", 0.0, 1.0, "cpu0", **dict.fromkeys(names, 1.0))).jobs["gcd"]
    assert progress.reward_name == shown
    assert progress.rewards == ([1.0] if shown else [])


def test_a_failed_task_is_a_failed_span_with_a_log_to_read() -> None:
    failed = TaskFailed(3.0, TaskId("gcd", 1, "train"), 1, "gpu0", 1.0, 2.0, "ValueError: no")
    seen = timeline(after(0.5, run("gcd/1/train")), Record(failed, (End("gcd", JobStatus.FAILED, "no"),)))
    assert not seen.lanes["gpu0"].spans[0].ok
    failure = seen.jobs["gcd"].failures[0]
    assert (failure.what, failure.error, failure.log) == ("gcd/1/train", "ValueError: no", "logs/gcd/1.train.log")
    assert seen.jobs["gcd"].status is JobStatus.FAILED


def test_a_build_that_fails_points_to_the_log_of_the_start() -> None:
    failed = TaskFailed(3.0, TaskId("gcd", -1, "init.actor"), 1, "gpu0", 1.0, 2.0, "ValueError: no")
    assert timeline(failed).jobs["gcd"].failures[0].log == "logs/gcd/start.init.actor.log"


def test_a_fault_of_a_context_is_a_failed_span_from_the_end_of_what_ran_before() -> None:
    seen = timeline(
        after(0.0, Save(ACTOR, "gpu0"), Restore(ACTOR, "gpu0"), run("gcd/1/train")),
        ContextSaved(1.0, ACTOR, "gpu0", 0.0, 1.0, 1),
        ContextFaulted(4.0, ACTOR, "gpu0", "restore", "RuntimeError: no"),
    )
    span = seen.lanes["gpu0"].spans[-1]
    assert (span.kind, span.start, span.end, span.ok) == (SpanKind.RESTORE, 1.0, 4.0, False)
    assert seen.jobs["gcd"].failures[0].what == "restore gcd/actor"


def test_a_fault_that_nobody_asked_for_is_kept_as_a_failure_without_a_span() -> None:
    seen = timeline(ContextFaulted(4.0, ACTOR, "gpu0", "drop", "RuntimeError: no"))
    assert not seen.lanes["gpu0"].spans
    assert seen.jobs["gcd"].failures[0].error == "RuntimeError: no"


def test_a_lost_executor_loses_what_ran_and_what_it_held() -> None:
    seen = timeline(
        finished("gcd/start/init.actor", 0.0, 1.0),
        after(1.0, run("gcd/0/train"), Save(ACTOR, "gpu0")),
        ExecutorLost(3.0, "gpu0", "gcd", "killed by signal 9"),
    )
    span = seen.lanes["gpu0"].spans[-1]
    assert (span.kind, span.start, span.end, span.label, span.ok) == (SpanKind.LOST, 1.0, 3.0, "train", False)
    assert not seen.resident
    assert not seen.lanes["gpu0"].pending
    failure = seen.jobs["gcd"].failures[0]
    assert (failure.what, failure.error, failure.log) == ("gcd/0/train", "killed by signal 9", "logs/gcd/0.train.log")


def test_an_executor_lost_while_it_switched_names_the_operation() -> None:
    seen = timeline(after(1.0, Restore(ACTOR, "gpu0")), ExecutorLost(3.0, "gpu0", "gcd", "gone"))
    assert seen.jobs["gcd"].failures[0].what == "restore gcd/actor"
    assert seen.jobs["gcd"].failures[0].log == ""


def test_an_executor_lost_while_idle_harms_nobody() -> None:
    seen = timeline(finished("gcd/0/train", 0.0, 1.0), ExecutorLost(3.0, "gpu0", None, "gone"))
    assert len(seen.lanes["gpu0"].spans) == 1
    assert not seen.jobs["gcd"].failures


def test_slowdown_is_the_time_per_iteration_here_over_the_same_alone() -> None:
    progress = timeline(finished("gcd/0/reward", 0.0, 1.0), finished("gcd/0/train", 1.0, 6.0)).jobs["gcd"]
    assert Comparison(1.0, 1.0, "pool gpu", {"gcd": 3.0}).slowdown(progress) == 2.0
    assert Comparison(1.0, 1.0, "pool gpu").slowdown(progress) is None


def test_nothing_is_slowed_down_before_it_has_done_anything() -> None:
    assert Comparison(1.0, 1.0, "pool gpu", {"gcd": 3.0}).slowdown(timeline().jobs["gcd"]) is None


def test_speedup_is_the_sequential_time_over_the_makespan() -> None:
    comparison = Comparison(30.0, 10.0, "pool gpu")
    assert comparison.speedup(20.0) == 1.5
    assert comparison.speedup(0.0) is None


def test_a_timeline_built_record_by_record_is_that_of_the_whole_run() -> None:
    records = [
        Record(JobSubmitted(0.0, job())),
        Record(finished("gcd/0/reward", 0.0, 1.0, reward=0.5), (run("gcd/0/train"),)),
        Record(finished("gcd/0/train", 1.0, 2.0)),
    ]
    grown = Timeline()
    for record in records:
        grown.add(record)
    assert to_json(grown) == to_json(Timeline.of(records))
    assert grown.at == 2.0


def test_the_document_is_json_with_the_documented_keys() -> None:
    seen = timeline(
        finished("gcd/0/reward", 0.0, 1.0, "cpu0", reward=math.nan),
        ContextRestored(2.0, ACTOR, "gpu0", 1.0, 2.0, 10),
        TaskFailed(3.0, TaskId("gcd", 0, "train"), 1, "gpu0", 2.0, 3.0, "no"),
    )
    document = json.loads(json.dumps(to_json(seen, Comparison(6.0, 2.0, "job gcd", {"gcd": 4.0})), allow_nan=False))
    assert document["makespan_seconds"] == 3.0
    assert document["speedup"] is None
    assert document["binding_bound"] == "job gcd"
    assert document["switches"] == 1
    assert [executor["name"] for executor in document["executors"]] == ["cpu0", "gpu0"]
    assert document["executors"][1]["spans"][0] == {
        "kind": "restore", "start": 1.0, "end": 2.0, "job": "gcd", "task": None, "context": "gcd/actor", "bytes": 10,
        "ok": True,
    }  # fmt: skip
    assert document["jobs"][0]["metrics"] == {"reward": [[0, None]]}
    assert document["jobs"][0]["failures"][0]["what"] == "gcd/0/train"
    assert document["jobs"][0]["slowdown"] is None
    assert document["jobs"][0]["alone_seconds_per_iteration"] == 4.0


def test_only_a_run_that_completed_every_job_has_a_speedup() -> None:
    done = timeline(Record(finished("gcd/1/train", 0.0, 2.0), (End("gcd", JobStatus.DONE),)))
    assert done.is_complete
    assert to_json(done, Comparison(6.0, 2.0, "job gcd"))["speedup"] == 3.0
    assert not timeline(jobs=()).is_complete


def test_numbers_that_are_not_known_are_null_in_the_document() -> None:
    document = to_json(timeline())
    assert document["sequential_seconds"] is None
    assert document["lower_bound_seconds"] is None
    assert document["speedup"] is None
