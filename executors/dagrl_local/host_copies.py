"""The saved copies of one executor's contexts: shared blocks, held by descriptor and never mapped in the supervisor."""

from __future__ import annotations

import os

from dagrl.model import ContextId


class HostCopies:
    """The newest copy of each context."""

    def __init__(self) -> None:
        self._fds: dict[ContextId, int] = {}

    def keep(self, context: ContextId, fd: int) -> None:
        """Keep a copy in place of the one before; the descriptor is this object's from now on."""
        self.forget(context)
        self._fds[context] = fd

    def find(self, context: ContextId) -> int | None:
        """The descriptor of a context's copy, if there is one."""
        return self._fds.get(context)

    def forget(self, context: ContextId) -> None:
        """Free a context's copy."""
        fd = self._fds.pop(context, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        """Free everything."""
        for context in list(self._fds):
            self.forget(context)
