from __future__ import annotations

from dagrl.events import ContextFaulted, ExecutorLost, JobCancelled, TaskFinished
from dagrl.model import ContextId, Eviction, TaskId
from dagrl.policy.fifo import FifoPolicy
from dagrl.policy.sequential import SequentialPolicy
from dagrl.testing import Case, cluster, grpo, solo

POOLS = "1 rollout 1 train 1 cpu"


def test_a_job_begins_with_its_builds_and_the_first_publication() -> None:
    with Case(cluster(POOLS)) as case:
        case.submit(grpo("a")).decides("run a/start/init.sampler on rollout0", "run a/start/init.actor on train0")
        case.reports("run a/start/init.actor on train0").decides("run a/start/propagate on train0")
        case.reports("run a/start/init.sampler on rollout0").decides()
        case.reports("run a/start/propagate on train0")
        case.decides("load a/sampler v0 on rollout0", "run a/0/sample on rollout0")


def test_one_iteration_follows_the_dag_and_loads_the_new_version() -> None:
    with Case(cluster(POOLS)) as case:
        case.start(grpo("a")).whatever()
        case.reports("load a/sampler v0 on rollout0").decides()
        case.reports("run a/0/sample on rollout0").decides("run a/0/reward on cpu0")
        case.reports("run a/0/reward on cpu0").decides("run a/0/train on train0")
        case.reports("run a/0/train on train0").decides("run a/0/propagate on train0")
        case.reports("run a/0/propagate on train0")
        case.decides("load a/sampler v1 on rollout0", "run a/1/sample on rollout0")


def test_the_last_task_of_a_context_is_followed_by_its_checkpoint_and_its_end() -> None:
    with Case(cluster("1 train")) as case:
        case.start(solo("a", iterations=1)).decides("run a/start/init.state on train0", "run a/0/work on train0")
        case.reports("run a/0/work on train0").decides("checkpoint a/state on train0", "drop a/state on train0")
        assert not case.scheduler.finished
        case.reports("checkpoint a/state on train0").decides("end a done")
        assert case.scheduler.finished


def test_another_jobs_unsaved_context_is_saved_before_a_task_runs() -> None:
    with Case(cluster("1 train"), FifoPolicy()) as case:
        case.submit(solo("a"), solo("b")).decides("run a/start/init.state on train0")
        case.after(1).reports("run a/start/init.state on train0")
        case.decides("save a/state on train0", "run b/start/init.state on train0")
        case.after(1).reports("save a/state on train0", "run b/start/init.state on train0")
        case.decides("save b/state on train0", "run a/0/work on train0")
        case.after(1).reports("save b/state on train0", "run a/0/work on train0")
        case.decides("save a/state on train0", "run b/0/work on train0")


def test_a_clean_context_is_not_saved_again() -> None:
    with Case(cluster("1 train"), FifoPolicy()) as case:
        case.start(solo("a"), solo("b")).whatever()
        case.after(1).reports("save b/state on train0", "run a/0/work on train0")
        case.decides("save a/state on train0", "run b/0/work on train0")
        case.reports("save a/state on train0").fails("run b/0/work on train0")
        case.decides("end b failed", "drop b/state on train0", "run a/1/work on train0")
        case.reports("run a/1/work on train0").decides("checkpoint a/state on train0", "drop a/state on train0")


def test_what_does_not_fit_is_evicted_and_restored_before_its_next_task() -> None:
    with Case(cluster("1 train", memory_bytes=3), FifoPolicy()) as case:
        case.context_bytes = 2
        case.submit(solo("a"), solo("b")).whatever()
        case.after(1).reports("run a/start/init.state on train0")
        case.decides("evict a/state on train0", "run b/start/init.state on train0")
        case.after(1).reports("evict a/state on train0", "run b/start/init.state on train0")
        case.decides("evict b/state on train0", "restore a/state on train0", "run a/0/work on train0")


def test_contexts_stay_resident_together_when_they_fit() -> None:
    with Case(cluster("1 train", memory_bytes=4), FifoPolicy()) as case:
        case.context_bytes = 2
        job, other = solo("a", memory_bytes=2), solo("b", memory_bytes=2)
        case.submit(job, other).whatever()
        case.after(1).reports("run a/start/init.state on train0")
        case.decides("save a/state on train0", "run b/start/init.state on train0")


def test_eager_eviction_takes_every_context_off_the_device_after_its_task() -> None:
    with Case(cluster("1 train", eviction=Eviction.EAGER)) as case:
        case.submit(solo("a", iterations=1)).whatever()
        case.reports("run a/start/init.state on train0").decides("evict a/state on train0")
        case.reports("evict a/state on train0").decides("restore a/state on train0", "run a/0/work on train0")


def test_the_context_needed_last_is_evicted_first() -> None:
    with Case(cluster("1 train 1 rollout 1 cpu", memory_bytes=4)) as case:
        case.context_bytes = 2
        soon = solo("soon", iterations=9, memory_bytes=2)
        late = grpo("late", iterations=9, memory_bytes=2, seconds=(5.0, 5.0, 1.0))
        third = solo("third", iterations=9, memory_bytes=2)
        case.start(late).whatever()
        case.submit(soon).whatever()
        case.reports("save late/actor on train0", "run soon/start/init.state on train0").whatever()
        case.submit(third).decides()
        case.after(100).reports("run soon/0/work on train0")
        case.decides("evict late/actor on train0", "save soon/state on train0", "run third/start/init.state on train0")


def test_a_context_larger_than_its_executor_fails_its_job_with_the_numbers() -> None:
    with Case(cluster("1 train", memory_bytes=3)) as case:
        case.context_bytes = 5
        case.submit(solo("a")).whatever()
        case.reports("run a/start/init.state on train0").decides("end a failed", "drop a/state on train0")


def test_a_failing_task_ends_its_job_and_no_other() -> None:
    with Case(cluster(POOLS)) as case:
        case.start(grpo("a"), solo("b", iterations=1)).whatever()
        case.reports("load a/sampler v0 on rollout0").fails("run a/0/sample on rollout0")
        case.decides("end a failed", "drop a/actor on train0", "drop a/sampler on rollout0")
        case.reports("run b/0/work on train0")
        case.decides("checkpoint b/state on train0", "drop b/state on train0")


def test_a_running_task_of_an_ended_job_is_cancelled_and_keeps_its_context_until_it_ends() -> None:
    with Case(cluster("1 train")) as case:
        case.start(solo("a")).whatever()
        case.handle(JobCancelled(case.at, "a", "no longer wanted"))
        case.decides("cancel a/0/work on train0", "end a cancelled")
        case.reports("run a/0/work on train0").decides("drop a/state on train0")
        assert case.scheduler.finished


def test_a_late_report_of_an_old_attempt_changes_nothing() -> None:
    with Case(cluster("1 train")) as case:
        case.start(solo("a")).whatever()
        stale = TaskFinished(case.at, TaskId("a", 0, "work"), 9, "train0", 0.0, 0.0)
        case.handle(stale).decides()
        case.reports("run a/0/work on train0").decides("run a/1/work on train0")


def test_a_lost_executor_costs_the_culprit_its_job_and_the_others_nothing() -> None:
    with Case(cluster("1 train"), FifoPolicy()) as case:
        case.start(solo("a"), solo("b")).whatever()
        case.after(1).reports("save b/state on train0", "run a/0/work on train0").whatever()
        case.reports("save a/state on train0")
        case.handle(ExecutorLost(case.at, "train0", "b", "exit code 3"))
        case.decides("end b failed", "drop b/state on train0", "restore a/state on train0", "run a/1/work on train0")


def test_a_lost_executor_takes_unsaved_contexts_with_it() -> None:
    with Case(cluster("1 train")) as case:
        case.start(solo("a", iterations=5)).whatever()
        case.handle(ExecutorLost(case.at, "train0", None, "killed by SIGKILL"))
        case.decides("end a failed", "drop a/state on train0")


def test_a_build_that_another_jobs_fault_interrupts_starts_again() -> None:
    with Case(cluster("1 train"), FifoPolicy()) as case:
        case.submit(solo("a"), solo("b")).whatever()
        case.after(1).reports("run a/start/init.state on train0").whatever()
        case.handle(ExecutorLost(case.at, "train0", "a", "exit code 1 while saving"))
        case.decides("end a failed", "drop a/state on train0", "run b/start/init.state on train0")


def test_a_faulted_context_ends_its_job() -> None:
    with Case(cluster("1 train", eviction=Eviction.EAGER)) as case:
        case.submit(solo("a")).whatever()
        case.reports("run a/start/init.state on train0").decides("evict a/state on train0")
        fault = ContextFaulted(case.at, ContextId("a", "state"), "train0", "evict", "TypeError: cannot be saved")
        case.handle(fault).decides("end a failed", "drop a/state on train0")
        assert case.scheduler.finished


def test_sequential_starts_a_job_when_the_one_before_has_ended() -> None:
    with Case(cluster("2 train"), SequentialPolicy()) as case:
        case.submit(solo("a", iterations=1), solo("b", iterations=1)).decides("run a/start/init.state on train0")
        case.reports("run a/start/init.state on train0").decides("run a/0/work on train0")
        case.reports("run a/0/work on train0").decides("checkpoint a/state on train0", "drop a/state on train0")
        case.reports("checkpoint a/state on train0").decides("end a done", "run b/start/init.state on train0")
