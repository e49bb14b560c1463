from __future__ import annotations

from dagrl.model import Step, StepKind, TaskId
from dagrl.policy import Candidate, Policy, Queue
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.list_scheduling import PATIENCE, ListPolicy
from dagrl.policy.sequential import SequentialPolicy
from dagrl.testing import grpo


def candidate(
    job: str,
    submitted: int = 0,
    *,
    kind: StepKind = StepKind.TRAIN,
    ready_at: float = 0.0,
    remaining: float = 10.0,
    switch: float = 0.0,
    priority: int = 0,
) -> Candidate:
    step = Step("step", kind, "train")
    return Candidate(
        TaskId(job, 0, "step"), step, grpo(job, priority=priority), submitted, ready_at, remaining, 1.0, switch
    )


def chosen(policy: Policy, waiting: Queue) -> str | None:
    best = policy.choose(waiting)
    return best.task.job if best is not None else None


def queue(*candidates: Candidate, now: float = 0.0) -> Queue:
    return Queue(now, candidates, [found.task.job for found in candidates])


def test_fifo_serves_what_became_ready_first() -> None:
    waiting = queue(candidate("a", 0, ready_at=2.0), candidate("b", 1, ready_at=1.0), candidate("c", 2, ready_at=1.0))
    assert chosen(FifoPolicy(), waiting) == "b"


def test_sequential_holds_back_all_but_the_first_unfinished_job() -> None:
    waiting = Queue(0.0, [candidate("b", 1), candidate("c", 2)], ["a", "b", "c"])
    assert chosen(SequentialPolicy(), waiting) is None
    assert chosen(SequentialPolicy(), Queue(0.0, waiting.candidates, ["b", "c"])) == "b"


def test_list_serves_the_longest_remaining_path_first() -> None:
    assert chosen(ListPolicy(), queue(candidate("a", remaining=5.0), candidate("b", 1, remaining=9.0))) == "b"


def test_list_puts_priority_before_the_remaining_path() -> None:
    waiting = queue(candidate("a", remaining=99.0), candidate("b", 1, priority=1))
    assert chosen(ListPolicy(), waiting) == "b"


def test_list_serves_a_propagate_before_its_equals() -> None:
    waiting = queue(candidate("a", remaining=99.0), candidate("b", 1, kind=StepKind.PROPAGATE))
    assert chosen(ListPolicy(), waiting) == "b"


def test_list_counts_a_switch_against_everybody_who_waits() -> None:
    waiting = queue(candidate("a", remaining=10.0, switch=2.0), candidate("b", 1, remaining=8.0))
    assert chosen(ListPolicy(), waiting) == "b"


def test_list_serves_an_overdue_task_before_any_priority() -> None:
    now = PATIENCE + 0.5
    waiting = queue(candidate("a", ready_at=now, priority=9), candidate("b", 1, remaining=0.0), now=now)
    assert chosen(ListPolicy(), waiting) == "b"
