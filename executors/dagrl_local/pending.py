"""An order between its hand-over and its report."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from dagrl.events import Cancel, Event, Run
from dagrl.executor import Order
from dagrl_local.orders import word_for


@dataclass(slots=True, eq=False)
class Pending:
    """An order that has not been reported yet."""

    order: Order
    report: asyncio.Future[Event | None]
    timer: asyncio.TimerHandle | None = None
    #: Its time was up before it ended.
    expired: bool = False

    def tell(self, event: Event | None) -> None:
        """Report, unless that was done already."""
        if self.timer is not None:
            self.timer.cancel()
        if not self.report.done():
            self.report.set_result(event)

    @property
    def is_cancel(self) -> bool:
        """Whether nothing is to be told of it."""
        return isinstance(self.order.decision, Cancel)

    @property
    def label(self) -> str:
        """What it is, for people: `gcd/3/train`, `save of gcd/actor`."""
        match self.order.decision:
            case Run(task=task) | Cancel(task=task):
                return str(task)
            case other:
                return f"{word_for(other)} of {other.context}"

    @property
    def timeout_seconds(self) -> float | None:
        """How long it may run, if it is a task with a limit."""
        match self.order.decision:
            case Run(task=task):
                return next((step.timeout_seconds for step in self.order.job.steps if step.name == task.step), None)
            case _:
                return None
