"""How far one job has come: iterations, metrics, failures, seconds.

Owns the count of finished tasks per iteration and the history of every metric. It never looks at executors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from dagrl.events import TaskFinished
from dagrl.model import START, Job, JobStatus, TaskId


@dataclass(frozen=True, slots=True)
class Failure:
    """Something of a job that ended badly."""

    at: float
    executor: str
    #: The task, or the operation and its context: `gcd/3/train`, `restore gcd/actor`.
    what: str
    error: str
    #: The log to read, relative to the run directory; empty when there is none.
    log: str = ""


def log_path(task: TaskId) -> str:
    """A task's log, relative to the run directory."""
    iteration = "start" if task.iteration == START else str(task.iteration)
    return f"logs/{task.job}/{iteration}.{task.step}.log"


@dataclass(slots=True)
class JobProgress:
    """One job: what of it is done, since when, and what it measured."""

    job: Job
    submitted_at: float
    status: JobStatus = JobStatus.RUNNING
    #: Why it ended, in one line; empty when all is well.
    reason: str = ""
    #: Iterations of which every step has finished.
    iterations_done: int = 0
    tasks_done: int = 0
    #: When its first iteration began, builds excluded; None before that.
    started_at: float | None = None
    #: When its last complete iteration ended; None before that.
    iteration_at: float | None = None
    #: When anything of it last ended.
    last_at: float = 0.0
    #: Values by metric and iteration, in the order in which they were logged.
    metrics: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    failures: list[Failure] = field(default_factory=list)
    _finished: Counter[int] = field(default_factory=Counter)

    def task_finished(self, event: TaskFinished) -> None:
        """Count a finished task and keep what it measured."""
        task = event.task
        self.last_at = max(self.last_at, event.finished)
        for name, value in event.metrics:
            self.metrics[name][task.iteration] = value
        if task.iteration == START:
            return
        self.started_at = event.started if self.started_at is None else min(self.started_at, event.started)
        self.tasks_done += 1
        self._finished[task.iteration] += 1
        if self._finished[task.iteration] == len(self.job.steps):
            self.iterations_done += 1
            self.iteration_at = event.finished

    def failed(self, failure: Failure) -> None:
        """Keep a failure. Whether the job ends with it is for the scheduler to decide."""
        self.last_at = max(self.last_at, failure.at)
        self.failures.append(failure)

    @property
    def share_done(self) -> float:
        """Share of the job's tasks that have finished, 0 to 1."""
        return self.tasks_done / (self.job.iterations * len(self.job.steps))

    @property
    def elapsed_seconds(self) -> float:
        """Seconds from submission until its last sign of life."""
        return max(0.0, self.last_at - self.submitted_at)

    @property
    def seconds_per_iteration(self) -> float | None:
        """Mean over the complete iterations, builds excluded; None before the first one is complete."""
        if self.started_at is None or self.iteration_at is None:
            return None
        return (self.iteration_at - self.started_at) / self.iterations_done

    @property
    def reward_name(self) -> str | None:
        """The metric to show first: `reward`, else one that speaks of reward or return, else the first logged."""
        for fits in ("reward".__eq__, lambda name: "reward" in name, lambda name: "return" in name):
            for name in self.metrics:
                if fits(name):
                    return name
        return next(iter(self.metrics), None)

    @property
    def rewards(self) -> list[float]:
        """History of the metric to show first, in the order of iterations."""
        name = self.reward_name
        if name is None:
            return []
        values = self.metrics[name]
        return [values[iteration] for iteration in sorted(values)]
