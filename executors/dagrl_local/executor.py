"""One local executor as the engine sees it: takes orders, hands them to its worker, reports what came of each.

Orders are passed on at once and carried out in turn, so a worker never waits for the engine between two of them. When
the worker ends, the order it was at is told as ExecutorLost, all others tell nothing, and a new worker is started.
Saved copies of contexts are kept here and outlive any worker.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dagrl.errors import ExecutorError
from dagrl.events import Drop, Event, Evict, ExecutorLost, Load, Restore, Run, Save
from dagrl.executor import Order, RunClock
from dagrl.model import INIT_PREFIX, ContextId, ExecutorSpec
from dagrl_local.facts import JobFacts
from dagrl_local.host_copies import HostCopies
from dagrl_local.logs import log_path
from dagrl_local.orders import attempt_id, event_of, message_of
from dagrl_local.pending import Pending
from dagrl_local.process import WorkerProcess, start_worker
from dagrl_local.publications import Publications
from dagrl_local.wire import Message

#: How long a step may take to notice that its time is up.
GRACE_SECONDS = 1.0
#: How long a worker that has nothing left to do may take to end.
CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RunParts:
    """What the executors of one run share."""

    directory: Path
    clock: RunClock
    publications: Publications = field(default_factory=Publications)


class LocalExecutor:
    """An executor with one worker process at a time."""

    def __init__(self, spec: ExecutorSpec, run: RunParts) -> None:
        self._spec = spec
        self._run = run
        self._worker: WorkerProcess | None = None
        self._starting: asyncio.Task[WorkerProcess] | None = None
        #: Handed over and not passed on yet; then passed on and not answered yet, by number.
        self._outbox: asyncio.Queue[Pending] = asyncio.Queue()
        self._sent: dict[int, Pending] = {}
        self._numbers = 0
        #: Jobs and contexts that the present worker knows.
        self._jobs: set[str] = set()
        self._contexts: set[ContextId] = set()
        self._copies = HostCopies()
        #: Newest version that each source has published.
        self._versions: dict[ContextId, int] = {}
        #: Why a worker ended while it had nothing to do; told with the next order.
        self._idle_loss: str | None = None
        #: A loss is on its way to the engine; until it arrives there, orders are for the worker that is gone.
        self._telling = False
        self._closing = False
        self._pump = asyncio.create_task(self._pass_on())
        self._background: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Start the first worker. Raises ExecutorError."""
        try:
            await self._ready()
        except ExecutorError:
            self._pump.cancel()
            raise

    def carry_out(self, order: Order) -> Coroutine[Any, Any, Event | None]:
        """Take an order, right in this call, and return a coroutine that reports what came of it."""
        pending = Pending(order, asyncio.get_running_loop().create_future())
        if pending.is_cancel:
            pending.tell(None)
        if self._telling:
            self._void(pending)
        elif self._idle_loss is not None or self._closing:
            self._lose([pending], None, self._idle_loss or f"executor {self._spec.name!r} is closed")
        else:
            self._outbox.put_nowait(pending)
        return self._report(pending)

    async def close(self, *, kill: bool) -> None:
        """End the worker: after what was handed over has been done, or at once."""
        self._closing = True
        worker = await self._present_worker()
        if worker is not None and not kill:
            await self._until_idle()
            self._spawn(worker.send({"op": "close"}))
            await asyncio.wait((worker.ended,), timeout=CLOSE_SECONDS)
        if worker is not None:
            worker.kill()
            await asyncio.wait((worker.ended,))
            # Its last callbacks.
            await asyncio.sleep(0)
        self._pump.cancel()
        self._copies.close()
        with suppress(FileNotFoundError):
            log = self._run.directory / "logs" / f"{self._spec.name}.log"
            if log.stat().st_size == 0:
                log.unlink()

    async def _report(self, pending: Pending) -> Event | None:
        event = await pending.report
        if isinstance(event, ExecutorLost):
            self._telling = False
        return event

    # The worker

    async def _ready(self) -> WorkerProcess:
        if self._worker is not None:
            return self._worker
        if self._starting is None:
            self._starting = asyncio.create_task(self._start_worker())
        return await asyncio.shield(self._starting)

    async def _start_worker(self) -> WorkerProcess:
        try:
            worker = await start_worker(self._spec, self._run.directory, self._run.clock, self._receive)
        finally:
            self._starting = None
        self._worker = worker
        worker.ended.add_done_callback(self._worker_ended)
        return worker

    async def _present_worker(self) -> WorkerProcess | None:
        if self._starting is not None:
            await asyncio.wait((self._starting,))
        return self._worker

    def _worker_ended(self, ended: asyncio.Task[str]) -> None:
        if ended.cancelled():
            return
        self._worker = None
        self._jobs.clear()
        self._contexts.clear()
        waiting = [*self._sent.values()]
        self._sent.clear()
        how = f"the process {ended.result()}"
        if waiting:
            first = waiting[0]
            self._lose([*waiting, *self._unsent()], first.order.job.name, self._blame(first, how))
        else:
            self._lose(self._unsent(), None, f"{how} while it had nothing to do")
        if not self._closing:
            self._spawn(self._restart())

    async def _restart(self) -> None:
        # If it cannot be started, the next order is told why.
        with suppress(ExecutorError):
            await self._ready()

    def _blame(self, pending: Pending, how: str) -> str:
        if pending.expired:
            limit = f"{pending.timeout_seconds:g} s"
            cause = f"{pending.label} did not end within its timeout of {limit}; its process was killed"
        else:
            cause = f"{how} during {pending.label}"
        match pending.order.decision:
            case Run(task=task):
                log = log_path(self._run.directory, task.job, task.iteration, task.step)
                with suppress(OSError), log.open("a", encoding="utf-8") as file:
                    file.write(f"dagrl: {cause}\n")
            case _:
                pass
        return cause

    def _lose(self, victims: list[Pending], culprit: str | None, cause: str) -> None:
        orders = [victim for victim in victims if not victim.is_cancel]
        if not orders:
            self._idle_loss = cause
            return
        self._idle_loss = None
        self._telling = True
        orders[0].tell(ExecutorLost(self._run.clock.now(), self._spec.name, culprit, cause))
        for victim in victims:
            self._void(victim)

    def _void(self, pending: Pending) -> None:
        pending.tell(None)
        match pending.order.decision:
            case Drop(context=context):
                self._forget(context)
            case _:
                pass

    def _unsent(self) -> list[Pending]:
        unsent = []
        while not self._outbox.empty():
            unsent.append(self._outbox.get_nowait())
        return unsent

    async def _until_idle(self) -> None:
        while self._sent or not self._outbox.empty():
            # Passing on an order takes a turn of the event loop.
            await asyncio.wait(
                [each.report for each in self._sent.values()] or [asyncio.ensure_future(asyncio.sleep(0))]
            )

    # Orders

    async def _pass_on(self) -> None:
        while True:
            pending = await self._outbox.get()
            try:
                worker = await self._ready()
            except ExecutorError as error:
                self._lose([pending, *self._unsent()], None, str(error))
                continue
            if pending.is_cancel:
                await worker.send(message_of(pending.order))
            elif not pending.report.done():
                await self._send(worker, pending)

    async def _send(self, worker: WorkerProcess, pending: Pending) -> None:
        job = pending.order.job
        body, fds = message_of(pending.order), []
        match pending.order.decision:
            case Restore(context=context) if context not in self._contexts:
                body["version"] = self._versions.get(context)
                fds.append(self._copies.find(context))
            case Load(propagate=step, version=version):
                fds.append(self._run.publications.find(job.name, step, version))
            case _:
                pass
        if None in fds:
            now = self._run.clock.now()
            missing = "there is nothing saved or published to take it from"
            self._answered(pending, {"error": missing, "traceback": "", "started": now, "finished": now}, ())
            return
        self._numbers += 1
        self._sent[self._numbers] = pending
        if job.name not in self._jobs:
            self._jobs.add(job.name)
            await worker.send({"op": "job", "facts": asdict(JobFacts.of(job))})
        await worker.send({**body, "id": self._numbers}, [fd for fd in fds if fd is not None])

    def _receive(self, message: Message) -> None:
        body = message.body
        if body["id"] not in self._sent:
            # Nobody asked: not from the worker's own loop. Its descriptors must not leak.
            for fd in message.fds:
                os.close(fd)
        elif body.get("running"):
            self._began(self._sent[body["id"]])
        else:
            self._answered(self._sent.pop(body["id"]), body["answer"], message.fds)

    def _began(self, pending: Pending) -> None:
        if pending.timeout_seconds is not None:
            loop = asyncio.get_running_loop()
            pending.timer = loop.call_later(pending.timeout_seconds, self._time_is_up, pending)

    def _time_is_up(self, pending: Pending) -> None:
        worker, decision = self._worker, pending.order.decision
        if worker is not None and isinstance(decision, Run):
            pending.expired = True
            worker.dump()
            self._spawn(worker.send({"op": "cancel", "attempt_id": attempt_id(decision)}))
            pending.timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, worker.kill)

    def _answered(self, pending: Pending, answer: dict[str, Any], fds: tuple[int, ...]) -> None:
        order = pending.order
        match order.decision:
            case (Save() | Evict()) as moved if fds:
                self._copies.keep(moved.context, fds[0])
            case Run(task=task) if fds:
                step = next(step for step in order.job.steps if step.name == task.step)
                self._run.publications.publish(order.job, step, task.iteration + 1, fds[0])
                self._versions[ContextId(task.job, step.context or "")] = task.iteration + 1
            case Drop(context=context):
                self._forget(context)
            case _:
                pass
        if "error" not in answer:
            self._note_success(order)
        if pending.expired:
            late = f"did not end within its timeout of {pending.timeout_seconds:g} s"
            answer = {"traceback": "", **answer, "error": late}
        pending.tell(event_of(order.decision, answer, self._run.clock.now()))

    def _note_success(self, order: Order) -> None:
        match order.decision:
            case Run(task=task) if task.step.startswith(INIT_PREFIX):
                self._contexts.add(ContextId(task.job, task.step.removeprefix(INIT_PREFIX)))
            case Restore(context=context):
                self._contexts.add(context)
            case Load(context=context, propagate=step, version=version):
                self._run.publications.loaded(context, step, version)
            case _:
                pass

    def _forget(self, context: ContextId) -> None:
        self._contexts.discard(context)
        self._copies.forget(context)
        self._versions.pop(context, None)
        self._run.publications.dropped(context)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
