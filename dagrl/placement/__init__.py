"""Where long-running jobs live: which jobs share nodes, so that the rent is least and nobody is slowed too much.

A placement is told what happens (a job arrives, departs, drifts) and keeps the groups; asked to repack, it answers
with the moves that pay. It reads no clock and draws no lot. One module per placement: `exclusive`, `rollmux`, and
dagrl's own, `consolidated`. `model` has the words, `cycle` the closed form, `pace` what the closed form cannot say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dagrl.placement.model import Group, LoopingJob, Move


class Placement(Protocol):
    """Decides who shares nodes with whom. Times are seconds since any fixed moment, and never go back."""

    @property
    def groups(self) -> Sequence[Group]:
        """All groups of running jobs."""
        ...

    def arrive(self, job: LoopingJob, at: float) -> None:
        """Seat a new job; nobody else moves. Raises UsageError if its state fits the memory of no node."""
        ...

    def depart(self, name: str, at: float) -> None:
        """A job has ended. Raises InvariantError for a job that has no seat."""
        ...

    def drift(self, job: LoopingJob, at: float) -> None:
        """A running job's durations have changed. Raises InvariantError for a job that has no seat."""
        ...

    def repack(self, at: float) -> tuple[Move, ...]:
        """Seat jobs anew where that pays, as far as this placement ever does. May take long; ask in the background."""
        ...
