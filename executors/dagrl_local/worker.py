"""A worker process: receives operations on its socket, carries them out on its main thread, answers.

A thread of its own listens, so that a cancel reaches a step that runs. When the supervisor is gone, however it went,
the socket ends and the whole process group is killed on the spot: nothing is ever orphaned. Ctrl-C is the
supervisor's affair and ignored here.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import queue
import signal
import socket
import sys
from threading import Thread

from dagrl.executor import WORKER_VARIABLE
from dagrl_local import wire
from dagrl_local.arguments import DUMP_SIGNAL, Arguments
from dagrl_local.facts import JobFacts
from dagrl_local.operations import Answer, Operations


class Worker:
    """The two threads of a worker and what passes between them."""

    def __init__(self, connection: socket.socket, operations: Operations, cancelled: set[str]) -> None:
        self._connection = connection
        self._operations = operations
        self._cancelled = cancelled
        self._waiting: queue.SimpleQueue[wire.Message] = queue.SimpleQueue()

    def work(self) -> None:
        """Carry out operations until told to close."""
        Thread(target=self._listen, name="dagrl-listen", daemon=True).start()
        wire.send(self._connection, {"ready": os.getpid()})
        while True:
            message = self._waiting.get()
            match message.body["op"]:
                case "close":
                    return
                case "job":
                    self._operations.learn(JobFacts.read(message.body["facts"]))
                case _:
                    self._carry_out(message)

    def _carry_out(self, message: wire.Message) -> None:
        number = message.body["id"]
        if message.body["op"] == "run":
            wire.send(self._connection, {"id": number, "running": True})
        answer = self._operations.carry_out(message)
        self._cancelled.discard(message.body.get("attempt_id", ""))
        self._answer(number, answer)

    def _answer(self, number: int, answer: Answer) -> None:
        blocks = (*answer.lent, *answer.given)
        wire.send(self._connection, {"id": number, "answer": answer.body}, [block.fd for block in blocks])
        for block in answer.given:
            block.close()

    def _listen(self) -> None:
        # The main thread's whereabouts are of interest, not this one's.
        signal.pthread_sigmask(signal.SIG_BLOCK, (DUMP_SIGNAL,))
        for message in wire.receive(self._connection):
            if message.body["op"] == "cancel":
                self._cancelled.add(message.body["attempt_id"])
            else:
                self._waiting.put(message)
        die()


def die() -> None:
    """End this process and all that it started, at once."""
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Work until told to close."""
    _, *words = sys.argv
    arguments = Arguments.parse(words)
    os.environ[WORKER_VARIABLE] = str(os.getpid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _hang_on(arguments.lifeline)
    faulthandler.enable()
    faulthandler.register(DUMP_SIGNAL, all_threads=False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    cancelled: set[str] = set()
    operations = Operations(arguments.run_directory, arguments.device, arguments.clock, cancelled.__contains__)
    with socket.socket(fileno=arguments.fd) as connection:
        Worker(connection, operations, cancelled).work()


def _hang_on(lifeline: int) -> None:
    """Have the kernel kill this process group when the supervisor ends, even while C code holds the interpreter."""
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
