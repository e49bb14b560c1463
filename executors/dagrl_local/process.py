"""The supervisor's side of one worker process: starts it, talks to it, knows how it ended, leaves nothing of it behind.

Never imports torch or numpy, and reads nothing that a worker sends but JSON and file descriptors.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dagrl.errors import ExecutorError
from dagrl.executor import RunClock
from dagrl.model import ExecutorSpec
from dagrl_local.arguments import DUMP_SIGNAL, Arguments
from dagrl_local.channel import Channel
from dagrl_local.wire import Message

#: What this process can import a worker can import, and nothing else.
_IMPORT_PATH = "DAGRL_IMPORT_PATH"
_BOOT = f"""
import json, os, sys
sys.path[:] = json.loads(os.environ.pop({_IMPORT_PATH!r}))
from dagrl_local.worker import main
main()
"""

_KEEP_FREED_MEMORY = str(1 << 40)

#: Set unless the user has set them. Threads of a job are set per task; sets of strings iterate in the same order in
#: every process; memory that an evicted context gives back stays mapped: mapping it anew costs ten times a copy.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "MALLOC_MMAP_THRESHOLD_": _KEEP_FREED_MEMORY,
    "MALLOC_TRIM_THRESHOLD_": _KEEP_FREED_MEMORY,
    "TOKENIZERS_PARALLELISM": "false",
}


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker whose supervisor has this one."""
    import_path = json.dumps([str(Path(entry).absolute()) for entry in sys.path])
    return {**_ENVIRONMENT, **environment, _IMPORT_PATH: import_path}


class WorkerProcess:
    """A worker that runs."""

    def __init__(self, process: Process, channel: Channel, lifeline: int) -> None:
        self._process = process
        self._channel = channel
        self._lifeline = lifeline
        #: Done when the process has ended and all that it had sent was received: how it ended.
        self.ended: asyncio.Task[str] = asyncio.create_task(self._wait())

    async def send(self, body: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Send a message; a worker that is gone does not get it."""
        with suppress(OSError):
            await self._channel.send(body, fds)

    def dump(self) -> None:
        """Have it write where it is into the log of its task."""
        with suppress(ProcessLookupError):
            self._process.send_signal(DUMP_SIGNAL)

    def kill(self) -> None:
        """Kill it and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _wait(self) -> str:
        try:
            code = await self._process.wait()
            self._channel.drain()
        finally:
            # What its steps have started and left running; itself, if the event loop ends first.
            self.kill()
            self._channel.close()
            os.close(self._lifeline)
        return how_it_ended(code)


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (if nobody did that, the system was probably out of memory)" if -code == signal.SIGKILL else ""
    return f"was ended by {name}{hint}"


async def start_worker(
    spec: ExecutorSpec, run_directory: Path, clock: RunClock, on_message: Callable[[Message], None]
) -> WorkerProcess:
    """Start a worker and wait until it is ready. Raises ExecutorError with what it said if it does not come up."""
    log = run_directory / "logs" / f"{spec.name}.log"
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def receive(message: Message) -> None:
        if "ready" in message.body:
            ready.set_result(None)
        else:
            on_message(message)

    ours, theirs = socket.socketpair()
    lifeline, held = os.pipe()
    arguments = Arguments(spec.name, theirs.fileno(), lifeline, run_directory, spec.device, clock)
    try:
        process = await _spawn(arguments, log)
    except OSError as error:
        ours.close()
        os.close(held)
        raise ExecutorError(f"cannot start a process for executor {spec.name!r}: {error}") from error
    finally:
        theirs.close()
        os.close(lifeline)
    worker = WorkerProcess(process, Channel(ours, receive), held)
    await asyncio.wait((ready, worker.ended), return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        how = ": ".join([f"its process {worker.ended.result()}", *said])
        raise ExecutorError(f"executor {spec.name!r} did not start: {how}")
    return worker


async def _spawn(arguments: Arguments, log: Path) -> Process:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-c", _BOOT, *arguments.words()),
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(arguments.fd, arguments.lifeline),
            start_new_session=True,
            env=worker_environment(os.environ),
        )
    finally:
        os.close(output)
