"""From a reference, `package.module:function` or `/absolute/steps.py:function`, to the function.

A file is imported once per process and job, under a name of its own: two jobs may each have a `steps.py`, and jobs that
share one do not share what it holds. What a file imports is found as in the supervisor's process; files beside it are
not.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from dagrl.errors import UsageError


def load_callable(reference: str, job: str) -> Callable[[Any], Any]:
    """The function that a job's reference names. Raises what its import raises, UsageError if there is none."""
    container, _, name = reference.rpartition(":")
    module = _load_file(Path(container), job) if container.endswith(".py") else import_module(container)
    function: Callable[[Any], Any] | None = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"{container} has no function {name!r}")
    return function


def _load_file(path: Path, job: str) -> ModuleType:
    name = (
        f"dagrl_steps_{path.stem}_{hashlib.sha256(f'{job}:{path}'.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"
    )
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    # Dataclasses and saved states look their module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
