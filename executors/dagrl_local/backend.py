"""The local backend: makes the executors of one run on this machine, and owns what they share."""

from __future__ import annotations

from pathlib import Path

from dagrl.executor import Executor, RunClock
from dagrl.model import ExecutorSpec
from dagrl_local.executor import LocalExecutor, RunParts
from dagrl_local.files import make_directory


class LocalBackend:
    """One worker process per executor; contexts and weights move through shared memory."""

    def __init__(self, run_dir: Path, clock: RunClock) -> None:
        self._run = RunParts(run_dir.resolve(), clock)

    async def start(self, spec: ExecutorSpec) -> Executor:
        """Start an executor. Raises ExecutorError if that cannot be done."""
        make_directory(self._run.directory / "logs")
        executor = LocalExecutor(spec, self._run)
        await executor.start()
        return executor

    async def close(self) -> None:
        """Free the published weights. The executors are closed by then."""
        self._run.publications.close()
