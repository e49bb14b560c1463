"""Every job on nodes of its own: what sharing is compared with.

With a job's first way these are dedicated pools; with another, such as sampling on the trainer's nodes, it is how
co-located frameworks run. Nobody is ever switched, moved or slowed by others.
"""

from __future__ import annotations

from dagrl.errors import InvariantError
from dagrl.placement.model import Group, LoopingJob, Move, Rule, alone_seat
from dagrl.placement.pace import fastest
from dagrl.placement.settle import Rentals


class ExclusivePlacement:
    """Runs every job alone, in the named way where it has one, else in its first."""

    def __init__(self, way: str = "") -> None:
        self.way = way
        self.rentals = Rentals()
        self._groups: dict[str, Group] = {}

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group per job, the oldest first."""
        return tuple(self._groups.values())

    def arrive(self, job: LoopingJob, at: float) -> None:  # noqa: ARG002 - as every placement is asked
        """Rent what the job needs."""
        way = next((way for way in job.ways if way.name == self.way), job.ways[0])
        needed: dict[str, int] = {}
        for phase in way.phases:
            needed[phase.pool] = max(needed.get(phase.pool, 0), phase.nodes)
        nodes = {pool: [self.rentals.rent(pool) for _ in range(count)] for pool, count in needed.items()}
        seats = (alone_seat(job, way, nodes),)
        self._groups[job.name] = fastest(seats, (Rule.ROUND_ROBIN,))

    def depart(self, name: str, at: float) -> None:  # noqa: ARG002 - as every placement is asked
        """Give the job's nodes back. Raises InvariantError for a job that has no seat."""
        if self._groups.pop(name, None) is None:
            raise InvariantError(f"job {name!r} has no seat")

    def drift(self, job: LoopingJob, at: float) -> None:
        """Run it as before, with its new durations."""
        self.depart(job.name, at)
        self.arrive(job, at)

    def repack(self, at: float) -> tuple[Move, ...]:  # noqa: ARG002 - as every placement is asked
        """Nobody ever moves."""
        return ()
