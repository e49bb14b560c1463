"""What a process holds once for all jobs, and every context must find as it left it: global generators and modes.

All sources are set before a task and noted down after it. One that is still as its seed made it is noted down as None,
and one whose library is not loaded yet counts as such: results cannot depend on what other jobs of the same process
have loaded. For the same reason an import in the middle of a task changes no source, and a library that it loads begins
as if it had been there all along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagrl_local.import_guard import guard_imports
from dagrl_local.sources import SOURCES, Source

#: How many beginnings of sources are remembered.
_BEGINNINGS = 64


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The sources at one moment: the seed that they began with, and the state of each that has moved since."""

    seed: int
    states: Mapping[str, Any] = field(default_factory=dict)


class Ambience:
    """The sources of this process; between `enter` and `leave` they are one task's own."""

    def __init__(self, sources: Sequence[Source] = SOURCES) -> None:
        self._sources = sources
        self._beginnings: dict[tuple[str, int], Any] = {}
        self._entered = Snapshot(0)
        self._threads = 1
        #: Looking at a source may import something, too.
        self._unguarded = guard_imports(self._around_import)

    def enter(self, snapshot: Snapshot, threads: int) -> None:
        """Set everything to a snapshot, and torch to that many threads."""
        self._entered, self._threads = snapshot, threads
        with self._unguarded():
            for source in self._loaded():
                self._set(source)
            self._set_threads()

    def leave(self) -> Snapshot:
        """Note everything down as it is now."""
        seed, states = self._entered.seed, dict(self._entered.states)
        with self._unguarded():
            for source in self._loaded():
                state = source.get()
                moved = state is not None and state != self._beginning(source)
                states[source.name] = state if moved else None
        return Snapshot(seed, {name: state for name, state in states.items() if state is not None})

    def _loaded(self) -> Iterator[Source]:
        return (source for source in self._sources if source.library in sys.modules)

    def _set(self, source: Source) -> None:
        state = self._entered.states.get(source.name)
        if state is None:
            state = self._beginning(source)
        if state is None:
            source.seed(self._entered.seed)
        else:
            source.set(state)

    def _beginning(self, source: Source) -> Any:
        """The state right after seeding; worked out once, because some generators are slow to seed."""
        key = source.name, self._entered.seed
        if key not in self._beginnings:
            now = source.get()
            source.seed(self._entered.seed)
            begun = source.get()
            if now is None or begun is None:
                return begun
            source.set(now)
            if len(self._beginnings) >= _BEGINNINGS:
                # Every task without a context has a seed of its own.
                self._beginnings.clear()
            self._beginnings[key] = begun
        return self._beginnings[key]

    def _set_threads(self) -> None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)

    def _around_import(self, module: str) -> Callable[[], None]:
        before = {source.name: source.get() for source in self._loaded() if source.library != module}

        def put_back() -> None:
            for source in self._loaded():
                state = before.get(source.name)
                if state is None:
                    self._set(source)
                else:
                    source.set(state)
            self._set_threads()

        return put_back
