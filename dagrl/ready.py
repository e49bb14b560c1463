"""The tasks that are ready at one place, best first: a heap that forgets lazily, so that a choice costs log n.

A place is an executor, for tasks whose context is at home there, or a pool, for tasks that any of its executors may
take.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from dagrl.model import TaskId
from dagrl.policy import Candidate, Rank

#: Dead entries that a heap keeps before it is swept.
_SPARE_ENTRIES = 64

_Entry = tuple[Rank, int, TaskId]


@dataclass(slots=True)
class ReadyQueue:
    """Ready tasks in the order of the ranks they came with."""

    #: In the order in which they became ready.
    _candidates: dict[TaskId, tuple[Candidate, int]] = field(default_factory=dict)
    _heap: list[_Entry] = field(default_factory=list)
    _number: int = 0

    def __len__(self) -> int:
        """How many tasks are ready here."""
        return len(self._candidates)

    def __iter__(self) -> Iterator[Candidate]:
        """All of them, the one that became ready first at the front."""
        return (candidate for candidate, _ in self._candidates.values())

    def push(self, candidate: Candidate, rank: Rank) -> None:
        """Add a task; a smaller rank is better."""
        self._number += 1
        self._candidates[candidate.task] = (candidate, self._number)
        heapq.heappush(self._heap, (rank, self._number, candidate.task))

    def remove(self, task: TaskId) -> None:
        """Take a task out. Raises KeyError if it is not here."""
        del self._candidates[task]
        if len(self._heap) > _SPARE_ENTRIES + 2 * len(self._candidates):
            self._heap = [entry for entry in self._heap if self._is_live(entry)]
            heapq.heapify(self._heap)

    @staticmethod
    def best_of(queues: Iterable[ReadyQueue], count: int) -> list[Candidate]:
        """The `count` best of several queues by rank, best first, and from each the one that became ready first."""
        entries = sorted(entry for queue in queues for entry in queue.best(count))[:count]
        found = {candidate.task: candidate for _, _, candidate in entries}
        for queue in queues:
            found.update((candidate.task, candidate) for candidate in islice(queue, 1))
        return list(found.values())

    def best(self, count: int) -> list[tuple[Rank, TaskId, Candidate]]:
        """The `count` best by rank, best first."""
        taken: list[_Entry] = []
        while self._heap and len(taken) < count:
            entry = heapq.heappop(self._heap)
            if self._is_live(entry):
                taken.append(entry)
        for entry in taken:
            heapq.heappush(self._heap, entry)
        return [(rank, task, self._candidates[task][0]) for rank, _, task in taken]

    def _is_live(self, entry: _Entry) -> bool:
        known = self._candidates.get(entry[2])
        return known is not None and known[1] == entry[1]
