from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dagrl.model import Step, StepKind, TaskId
from dagrl.policy import Candidate, Policy
from dagrl.policy.exclusive import ExclusivePolicy
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.list_scheduling import PATIENCE, ListPolicy
from dagrl.policy.lrs import LrsPolicy
from dagrl.policy.round_robin import RoundRobinPolicy
from dagrl.policy.sequential import SequentialPolicy
from dagrl.testing import grpo


def candidate(
    job: str,
    submitted: int = 0,
    *,
    kind: StepKind = StepKind.TRAIN,
    ready_at: float = 0.0,
    remaining: float = 10.0,
    priority: int = 0,
) -> Candidate:
    step = Step("step", kind, "train", context="actor")
    work = grpo(job, priority=priority)
    return Candidate(TaskId(job, 0, "step"), step, work, submitted, ready_at, remaining, 1.0, -1.0)


@dataclass(frozen=True)
class Waiting:
    """A queue as a test writes it."""

    candidates: Sequence[Candidate]
    policy: Policy
    now: float = 0.0
    last_job: int = -1
    first_job: str = "a"
    jobs_at_home: Collection[str] = ()
    next_to_settle: str | None = None
    switches: dict[str, float] = field(default_factory=dict)
    blocked: Collection[str] = ()

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def best(self, count: int) -> list[Candidate]:
        oldest = min(self.candidates, key=lambda found: found.ready_at)
        best = sorted(self.candidates, key=self.policy.rank)[:count]
        return best if oldest in best else [*best, oldest]

    def can_start(self, candidate: Candidate) -> bool:
        return candidate.task.job not in self.blocked

    def switch_seconds(self, candidate: Candidate) -> float:
        return self.switches.get(candidate.job.name, 0.0)


def chosen(waiting: Waiting) -> str | None:
    best = waiting.policy.choose(waiting)
    return best.task.job if best is not None else None


def test_fifo_serves_what_became_ready_first() -> None:
    late, early, equal = (
        candidate("a", 0, ready_at=2.0),
        candidate("b", 1, ready_at=1.0),
        candidate("c", 2, ready_at=1.0),
    )
    assert chosen(Waiting([late, equal, early], FifoPolicy())) == "b"


def test_lrs_serves_the_job_that_was_served_least_recently() -> None:
    served, longer_ago = replace(candidate("a"), served_at=5.0), replace(candidate("b", 1), served_at=2.0)
    assert chosen(Waiting([served, longer_ago], LrsPolicy())) == "b"


def test_round_robin_serves_the_job_after_the_last_one_and_passes_over_who_has_nothing() -> None:
    waiting = Waiting([candidate("a", 0), candidate("d", 3)], RoundRobinPolicy(), last_job=1)
    assert chosen(waiting) == "d"
    assert chosen(replace(waiting, last_job=3)) == "a"
    assert chosen(replace(waiting, last_job=0)) == "d"


def test_sequential_holds_back_all_but_the_first_unfinished_job() -> None:
    waiting = Waiting([candidate("b", 1), candidate("c", 2)], SequentialPolicy(), first_job="a")
    assert chosen(waiting) is None
    assert chosen(replace(waiting, first_job="b")) == "b"


def test_exclusive_shares_no_executor_that_holds_a_context() -> None:
    waiting = Waiting([candidate("b", 1)], ExclusivePolicy(), jobs_at_home={"a"})
    assert chosen(waiting) is None
    assert chosen(replace(waiting, jobs_at_home={"b"})) == "b"


def test_exclusive_settles_one_job_after_the_other() -> None:
    build = candidate("b", 1, kind=StepKind.INIT)
    assert chosen(Waiting([build], ExclusivePolicy(), next_to_settle="a")) is None
    assert chosen(Waiting([build], ExclusivePolicy(), next_to_settle="b")) == "b"


def test_exclusive_shares_executors_for_steps_without_a_context() -> None:
    scoring = candidate("b", 1)
    scoring = replace(scoring, step=replace(scoring.step, context=None))
    assert chosen(Waiting([scoring], ExclusivePolicy(), jobs_at_home={"a"})) == "b"


def test_list_serves_the_longest_remaining_path_first() -> None:
    assert chosen(Waiting([candidate("a", remaining=5.0), candidate("b", 1, remaining=9.0)], ListPolicy())) == "b"


def test_list_puts_priority_before_the_remaining_path() -> None:
    assert chosen(Waiting([candidate("a", remaining=99.0), candidate("b", 1, priority=1)], ListPolicy())) == "b"


def test_list_serves_a_propagate_before_its_equals() -> None:
    propagate = candidate("b", 1, kind=StepKind.PROPAGATE)
    assert chosen(Waiting([candidate("a", remaining=99.0), propagate], ListPolicy())) == "b"


def test_list_counts_a_switch_against_everybody_who_waits() -> None:
    waiting = [candidate("a", remaining=10.0), candidate("b", 1, remaining=8.0)]
    assert chosen(Waiting(waiting, ListPolicy(), switches={"a": 0.2})) == "a"
    assert chosen(Waiting(waiting, ListPolicy(), switches={"a": 0.5})) == "b"


def test_list_serves_an_overdue_task_before_any_priority() -> None:
    now = PATIENCE + 0.5
    waiting = [candidate("a", ready_at=now, priority=9), candidate("b", 1, remaining=0.0)]
    assert chosen(Waiting(waiting, ListPolicy(), now=now)) == "b"


def test_list_lets_others_pass_a_gang_that_cannot_start_until_it_is_overdue() -> None:
    gang, other = candidate("a", remaining=99.0), candidate("b", 1)
    assert chosen(Waiting([gang, other], ListPolicy(), blocked={"a"})) == "b"
    late = PATIENCE + 0.5
    assert chosen(Waiting([gang, replace(other, ready_at=late)], ListPolicy(), blocked={"a"}, now=late)) == "a"
    assert chosen(Waiting([gang], ListPolicy(), blocked={"a"})) is None


def test_fifo_lets_a_job_send_its_weights_before_it_gives_the_executor_away() -> None:
    propagate = candidate("b", 1, kind=StepKind.PROPAGATE, ready_at=2.0)
    assert chosen(Waiting([candidate("a"), propagate], FifoPolicy())) == "b"
