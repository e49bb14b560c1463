"""dagrl runs many RL post-training jobs interleaved on shared accelerators, with the same bits as alone.

What a script needs is exported here and loaded when it is first used, so that `import dagrl` in a worker or for
`--help` costs next to nothing: no torch, no networkx, no pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagrl.builder import Job
    from dagrl.errors import DagrlError, SpecError, UsageError
    from dagrl.runner import run
    from dagrl.step import BuildContext, StepCancelledError, StepContext

    __version__: str

__all__ = [
    "BuildContext",
    "DagrlError",
    "Job",
    "SpecError",
    "StepCancelledError",
    "StepContext",
    "UsageError",
    "__version__",
    "run",
]

_HOMES = {
    "BuildContext": "dagrl.step",
    "DagrlError": "dagrl.errors",
    "Job": "dagrl.builder",
    "SpecError": "dagrl.errors",
    "StepCancelledError": "dagrl.step",
    "StepContext": "dagrl.step",
    "UsageError": "dagrl.errors",
    "run": "dagrl.runner",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'dagrl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dagrl")
    except PackageNotFoundError:
        return "0+unknown"  # a checkout that was never installed
