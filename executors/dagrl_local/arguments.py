"""What a supervisor and its workers must agree on before they can talk."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from dagrl.executor import RunClock

#: Makes a worker write where every thread is into the log of the task that runs.
DUMP_SIGNAL = signal.SIGUSR1


@dataclass(frozen=True, slots=True)
class Arguments:
    """The command line of a worker."""

    #: The executor's name, for people who look at processes.
    executor: str
    #: The socket to the supervisor.
    fd: int
    #: The reading end of a pipe that the supervisor never writes to: it closes when the supervisor is gone.
    lifeline: int
    run_directory: Path
    device: str
    clock: RunClock

    @classmethod
    def parse(cls, words: list[str]) -> Arguments:
        """Read what `words` wrote."""
        executor, fd, lifeline, run_directory, device, origin = words
        return cls(executor, int(fd), int(lifeline), Path(run_directory), device, RunClock(float.fromhex(origin)))

    def words(self) -> list[str]:
        """The command line."""
        return [
            self.executor,
            str(self.fd),
            str(self.lifeline),
            str(self.run_directory),
            self.device,
            self.clock.origin.hex(),
        ]
