"""Notices imports while they happen: what a module does when it is first imported must not be part of a result.

Only the first job of a process to need a module runs it. If that drew random numbers or set a mode, the job's results
would depend on who came before. So around every import that runs new code, its owner may note the state of things down
and put it back.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Called with a module's name before that runs; returns what to call afterwards.
Around = Callable[[str], Callable[[], None]]


def guard_imports(around: Around) -> Callable[[], AbstractContextManager[None]]:
    """Call `around` at each import on the main thread that runs new code, once for it and all that it imports.

    Returns what makes a block of code whose imports are not guarded.
    """
    guard = _Guard(around)
    sys.meta_path.insert(0, guard)
    return guard.unguarded


class _Guard(MetaPathFinder):
    """Stands in front of the other finders, and wraps the loader that they find for an outermost import."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._inside = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec that the others find. Looking for a module does not mean that it will be imported."""
        if self._inside or threading.current_thread() is not threading.main_thread():
            return None
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self)
        return spec

    def run(self, loader: Any, module: ModuleType) -> None:
        """Run a module's code, with everything that it imports."""
        if self._inside:
            loader.exec_module(module)
            return
        with self.unguarded():
            afterwards = self._around(module.__name__)
            try:
                loader.exec_module(module)
            finally:
                afterwards()

    @contextmanager
    def unguarded(self) -> Iterator[None]:
        """Let imports pass."""
        before, self._inside = self._inside, True
        try:
            yield
        finally:
            self._inside = before


class _Loader(Loader):
    """The real loader, but for the moment at which a module runs."""

    def __init__(self, real: Any, guard: _Guard) -> None:
        self._real = real
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the real loader does."""
        made: ModuleType | None = self._real.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """As the real loader does; from then on the module knows no other."""
        module.__loader__ = self._real
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        self._guard.run(self._real, module)
