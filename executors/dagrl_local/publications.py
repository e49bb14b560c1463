"""Published weights, version by version, for as long as somebody may still load them.

Owned by the supervisor, as descriptors of shared blocks that it never maps. A version is dropped once every context
that receives the weights has loaded a newer one: contexts only ever go forward.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from dagrl.model import ContextId, Job, Step

#: Job and propagate step.
_Stream = tuple[str, str]

_NOTHING_YET = -1


class Publications:
    """The published weights of all jobs of a run."""

    def __init__(self) -> None:
        self._versions: dict[_Stream, dict[int, int]] = {}
        #: The version that each receiving context last loaded.
        self._loaded: dict[_Stream, dict[ContextId, int]] = {}

    def publish(self, job: Job, step: Step, version: int, fd: int) -> None:
        """Keep a version, which lies behind `fd`; the descriptor is this object's from now on."""
        stream = job.name, step.name
        if stream not in self._loaded:
            used = {each.context for each in job.steps}
            self._loaded[stream] = {
                ContextId(job.name, target): _NOTHING_YET for target in step.targets if target in used
            }
        versions = self._versions.setdefault(stream, {})
        if version in versions:
            os.close(versions[version])
        versions[version] = fd
        self._trim(stream)

    def find(self, job: str, step: str, version: int) -> int | None:
        """The descriptor of a version, if it is still there."""
        return self._versions.get((job, step), {}).get(version)

    def loaded(self, context: ContextId, step: str, version: int) -> None:
        """Take note that a context holds a version."""
        receivers = self._loaded.get((context.job, step), {})
        if context in receivers:
            receivers[context] = version
            self._trim((context.job, step))

    def dropped(self, context: ContextId) -> None:
        """Take note that a context loads nothing any more."""
        for stream, receivers in self._loaded.items():
            if receivers.pop(context, None) is not None:
                self._trim(stream)

    def close(self) -> None:
        """Free everything."""
        for versions in self._versions.values():
            _close(versions.values())
        self._versions.clear()

    def _trim(self, stream: _Stream) -> None:
        versions, receivers = self._versions[stream], self._loaded[stream]
        oldest = min(receivers.values(), default=max(versions, default=0) + 1)
        old = [version for version in versions if version < oldest]
        _close(versions.pop(version) for version in old)


def _close(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)
