from __future__ import annotations

from dataclasses import replace

from dagrl.graph import JobGraph, check
from dagrl.model import START, Context, Job, Need, OnEvict, Step, StepKind, TaskId
from dagrl.testing import cluster, grpo, solo


def waits_for(job: Job, task: str) -> set[str]:
    return {str(before) for before in JobGraph(job).predecessors(TaskId.parse(task))}


def test_a_sound_job_has_no_faults() -> None:
    assert check(grpo("a"), cluster("1 rollout 1 train 1 cpu")) == []


def test_the_first_sample_waits_for_the_first_publication_and_its_own_build() -> None:
    assert waits_for(grpo("a"), "a/0/sample") == {"a/start/propagate", "a/start/init.sampler"}


def test_the_first_train_waits_for_the_publication_that_reads_its_weights() -> None:
    assert waits_for(grpo("a"), "a/0/train") == {"a/0/reward", "a/start/propagate"}


def test_a_sample_waits_for_the_propagate_that_its_staleness_allows() -> None:
    assert waits_for(grpo("a", 9), "a/5/sample") == {"a/4/propagate", "a/4/sample"}
    assert waits_for(grpo("a", 9, max_staleness=2), "a/5/sample") == {"a/2/propagate", "a/4/sample"}
    assert waits_for(grpo("a", 9, max_staleness=2), "a/1/sample") == {"a/start/propagate", "a/0/sample"}


def test_a_train_waits_for_the_propagate_before_it_even_when_samples_run_ahead() -> None:
    assert waits_for(grpo("a", 9, max_staleness=3), "a/5/train") == {"a/5/reward", "a/4/propagate"}


def test_the_version_read_does_not_depend_on_what_is_newest() -> None:
    graph = JobGraph(grpo("a", 9, max_staleness=2))
    assert [graph.version_read(TaskId("a", i, "sample")) for i in (0, 2, 3, 8)] == [
        ("propagate", 0),
        ("propagate", 0),
        ("propagate", 1),
        ("propagate", 6),
    ]
    assert graph.version_read(TaskId("a", 3, "train")) is None


def test_a_reader_behind_the_propagate_reads_the_version_of_its_own_iteration() -> None:
    job = grpo("a", 9)
    job = replace(
        job, steps=(*job.steps, Step("eval", StepKind.TASK, "rollout", "m:f", "sampler", (Need("propagate"),)))
    )
    graph = JobGraph(job)
    assert graph.version_read(TaskId("a", 3, "eval")) == ("propagate", 4)
    assert graph.version_read(TaskId("a", 4, "sample")) == ("propagate", 4)
    stale = check(replace(job, max_staleness=1))
    assert [fault.path for fault in stale] == [("steps", "eval", "needs")]


def test_a_root_without_weights_does_not_run_away() -> None:
    steps = (
        Step("fetch", StepKind.TASK, "cpu", "m:f"),
        Step("use", StepKind.TASK, "cpu", "m:f", needs=(Need("fetch"),)),
    )
    assert waits_for(Job("a", 9, steps), "a/0/fetch") == set()
    assert waits_for(Job("a", 9, steps), "a/5/fetch") == {"a/4/use"}
    assert waits_for(Job("a", 9, steps, max_staleness=2), "a/5/fetch") == {"a/2/use"}


def test_a_need_of_the_iteration_before_is_nothing_in_the_first_one() -> None:
    steps = (Step("x", StepKind.TASK, "cpu", "m:f", needs=(Need("y", -1),)), Step("y", StepKind.TASK, "cpu", "m:f"))
    assert waits_for(Job("a", 9, steps), "a/3/x") == {"a/2/y", "a/2/x"}
    assert waits_for(Job("a", 9, steps), "a/0/x") == set()


def test_successors_are_the_inverse_of_predecessors() -> None:
    job = grpo("a", 4, max_staleness=1)
    graph = JobGraph(job)
    tasks = [*graph.start_tasks(), *(TaskId("a", i, name) for i in range(4) for name in graph.order)]
    for task in tasks:
        assert set(graph.successors(task)) == {other for other in tasks if task in graph.predecessors(other)}


def test_a_context_is_used_in_one_order_to_its_last_task() -> None:
    graph = JobGraph(grpo("a", 2))
    task, seen = TaskId("a", START, "init.actor"), []
    while (following := graph.next_in_context(task)) is not None:
        task = following
        seen.append(str(task))
    assert seen == ["a/0/train", "a/0/propagate", "a/1/train", "a/1/propagate"]


def test_ranks_add_up_along_the_longest_path() -> None:
    graph = JobGraph(grpo("a", seconds=(3.0, 0.5, 2.0)))
    ranks = graph.upward_ranks(lambda step: step.expected_seconds or 0.0)
    assert ranks == {"propagate": 0.0, "train": 2.0, "reward": 2.5, "sample": 5.5}


def test_a_circle_is_named_with_its_steps() -> None:
    steps = (
        Step("x", StepKind.TASK, "cpu", "m:f", needs=(Need("y"),)),
        Step("y", StepKind.TASK, "cpu", "m:f", needs=(Need("x"),)),
    )
    [fault] = check(Job("a", 1, steps))
    assert fault.path[0] == "steps"
    assert fault.path[-2:] == ("needs", 0)
    assert "x -> y -> x" in fault.message or "y -> x -> y" in fault.message


def test_what_the_cluster_lacks_is_named() -> None:
    faults = check(grpo("a"), cluster("1 rollout 1 train"))
    assert [(fault.path, fault.message) for fault in faults] == [
        (("steps", "reward", "pool"), "the cluster has no pool 'cpu'; it has 'rollout', 'train'")
    ]


def test_a_context_that_never_fits_is_refused_with_the_numbers() -> None:
    [fault] = check(solo("a", memory_bytes=9), cluster("2 train", memory_bytes=4))
    assert fault.path == ("contexts", "state", "memory")
    assert "9 bytes" in fault.message
    assert "has 4" in fault.message


def test_contexts_that_make_no_sense_are_refused() -> None:
    job = grpo("a")
    again = Step("again", StepKind.PROPAGATE, "train", None, "actor", (Need("train"),), ("sampler", "actor"))
    spare = Context("spare", "m:f", "train")
    broken = replace(job, steps=(*job.steps, again), contexts=(*job.contexts, spare))
    assert {fault.message.split(";")[0] for fault in check(broken)} == {
        "no step runs in this context",
        "context 'sampler' already receives weights from step 'propagate'",
        "'actor' is the source as well",
    }
    keeps = replace(solo("a"), contexts=(Context("state", "m:f", "train", OnEvict.DISCARD),))
    assert [fault.path for fault in check(keeps)] == [("contexts", "state", "on_evict")]
