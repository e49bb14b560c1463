from __future__ import annotations

from dagrl.estimates import Estimates
from dagrl.events import JobSubmitted, Record
from dagrl.explain import explain
from dagrl.model import JobStatus, TaskId
from dagrl.policy.fifo import FifoPolicy
from dagrl.simulate import Workload, play, simulate
from dagrl.testing import cluster, grpo, solo
from dagrl_tui.explained import sentences

POOLS = cluster("1 rollout 1 train 1 cpu")


def told(text: str, *lines: str) -> None:
    for line in lines:
        assert line in text, text


def test_a_task_that_waited_says_for_what_and_who_was_in_its_way() -> None:
    records = simulate([solo("a", 2), solo("b", 2)], cluster("1 train"), FifoPolicy(), Estimates())
    found = explain(records, TaskId("b", 0, "work"))
    assert found is not None
    assert found.ready_at == 1.0
    assert found.home == "train0"
    assert [str(span.task) for span in found.meanwhile][:1] == ["a/1/work"]
    told(
        "\n".join(sentences(found)), "b/0/work became ready at 1.000 s", "meanwhile train0: compute a/1/work for 1.00 s"
    )


def test_what_was_done_before_it_is_told() -> None:
    records = simulate([solo("a", 2), solo("b", 2)], cluster("1 train"), FifoPolicy(), Estimates())
    found = explain(records, TaskId("a", 1, "work"))
    assert found is not None
    told("\n".join(sentences(found)), "after save b/state")


def test_a_task_without_a_context_may_run_anywhere_in_its_pool() -> None:
    found = explain(simulate([grpo("a")], POOLS, FifoPolicy(), Estimates()), TaskId("a", 0, "reward"))
    assert found is not None
    told("\n".join(sentences(found)), "any executor of pool 'cpu' can run it", "attempt 1 was given to cpu0")


def test_a_task_that_has_not_started_says_what_it_waits_for() -> None:
    records = [record for record in simulate([grpo("a")], POOLS, FifoPolicy(), Estimates()) if record.event.at < 1.0]
    found = explain(records, TaskId("a", 0, "train"))
    assert found is not None
    told("\n".join(sentences(found)), "a/0/train waits for a/0/reward", "it has not started")


def test_a_task_of_a_job_that_ended_before_says_so() -> None:
    workload = Workload([solo("a", 9)], cluster("1 train"), Estimates(), departures={"a": 0.5})
    found = explain(list(play(workload, FifoPolicy())), TaskId("a", 5, "work"))
    assert found is not None
    assert found.job_ended.startswith(JobStatus.CANCELLED)
    told("\n".join(sentences(found)), "it never ran: its job cancelled departed")


def test_a_task_that_does_not_exist_has_no_explanation() -> None:
    records = [Record(JobSubmitted(0.0, solo("a", 2)))]
    for text in ("a/2/work", "a/0/play", "b/0/work", "a/start/init.other"):
        assert explain(records, TaskId.parse(text)) is None
