from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dagrl.model import Step, StepKind, TaskId
from dagrl.policy import Candidate
from dagrl.ready import ReadyQueue
from dagrl.testing import solo

JOB, STEP = solo("a"), Step("work", StepKind.TASK, "train")


def candidate(number: int) -> Candidate:
    return Candidate(TaskId("a", number, "work"), STEP, JOB, 0, 0.0, 0.0, 1.0, -1.0)


def numbers(found: list[Candidate]) -> list[int]:
    return [each.task.iteration for each in found]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=300), st.integers(1, 5))
def test_the_best_are_the_best_of_what_is_still_there_and_the_oldest(steps: list[tuple[int, bool]], count: int) -> None:
    queue, model = ReadyQueue(), dict[int, int]()
    for number, (rank, removes) in enumerate(steps):
        if removes and model:
            gone = next(iter(model))
            del model[gone]
            queue.remove(TaskId("a", gone, "work"))
        else:
            model[number] = rank
            queue.push(candidate(number), (rank,))
        best = numbers(ReadyQueue.best_of([queue], count))
        expected = sorted(model, key=lambda each: (model[each], each))[:count]
        oldest = [each for each in list(model)[:1] if each not in expected]
        assert [model[each] for each in best] == [model[each] for each in expected + oldest]
        assert numbers(list(queue)) == list(model)


def test_two_queues_are_looked_at_as_one() -> None:
    here, pool = ReadyQueue(), ReadyQueue()
    here.push(candidate(1), (5.0,))
    pool.push(candidate(2), (4.0,))
    pool.push(candidate(3), (6.0,))
    assert numbers(ReadyQueue.best_of([here, pool], 1)) == [2, 1]
