"""A job written in Python: the same job as from YAML, with decorated plain functions for steps and contexts.

Owns how functions become names and references that a worker process can import. It judges nothing itself: `build` hands
a mapping in a spec's form to `dagrl.spec`, which is the one validator for both. The decorators return the function
unchanged, so a step can still be called and tested like any function.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypeAlias, TypedDict, TypeVar, Unpack

from dagrl import model
from dagrl.errors import UsageError
from dagrl.model import Cluster
from dagrl.step import BuildContext, StepContext

if TYPE_CHECKING:
    from dagrl.spec.sources import Sources

StepFunction: TypeAlias = Callable[[StepContext], Mapping[str, Any] | None]
BuildFunction: TypeAlias = Callable[[BuildContext], Any]

F = TypeVar("F", bound=Callable[..., Any])


class JobSettings(TypedDict, total=False):
    """The keys of a spec that describe the job itself, with the same names and defaults."""

    iterations: Required[int]
    max_staleness: int
    seed: int
    priority: int
    weight: float
    threads: int
    params: Mapping[str, Any]
    checkpoint: Mapping[str, int]
    recipe: str


class ContextSettings(TypedDict, total=False):
    """The keys of an entry of `contexts:`, and its name if that is not the function's."""

    name: str
    pool: Required[str]
    on_evict: str
    #: Bytes, or text like `512MiB`.
    memory: int | str


class StepSettings(TypedDict, total=False):
    """The keys of an entry of `steps:`, and its name if that is not the function's."""

    name: str
    kind: Required[str]
    context: BuildFunction | str
    needs: Sequence[StepFunction | str]
    pool: str
    #: Seconds, or text like `10m`.
    timeout: float | str
    expected_seconds: float


class Job:
    """One RL run, built up by decorating functions; `dagrl.run(job)` carries it out."""

    def __init__(self, name: str, **settings: Unpack[JobSettings]) -> None:
        self.name = name
        self._settings = settings
        self._contexts = _Entries(f"a context of job {name!r}")
        self._steps = _Entries(f"a step of job {name!r}")

    def __repr__(self) -> str:
        return f"<dagrl.Job {self.name!r}: {len(self._contexts.specs)} contexts, {len(self._steps.specs)} steps>"

    def context(self, **settings: Unpack[ContextSettings]) -> Callable[[F], F]:
        """Make the decorated function the one that builds a context.

        Raises UsageError for a function that a worker could not import, or a name that is taken.
        """

        def declare(function: F) -> F:
            entry = {key: value for key, value in settings.items() if key != "name"}
            self._contexts.add(settings.get("name"), function, {"build": _importable(function), **entry})
            return function

        return declare

    def step(self, **settings: Unpack[StepSettings]) -> Callable[[F], F]:
        """Make the decorated function a step. `needs` and `context` take functions of this job, or names.

        Raises UsageError for a function that a worker could not import, one that is no step or context of this job, or
        a name that is taken.
        """

        def declare(function: F) -> F:
            entry = {key: value for key, value in settings.items() if key != "name"}
            if "needs" in entry:
                entry["needs"] = self._steps.names_of(settings.get("needs", ()))
            if "context" in entry:
                entry["context"] = self._contexts.name_of(settings.get("context"))
            self._steps.add(settings.get("name"), function, {"run": _importable(function), **entry})
            return function

        return declare

    def propagate(
        self,
        *,
        source: BuildFunction | str,
        target: BuildFunction | str | Sequence[BuildFunction | str],
        needs: Sequence[StepFunction | str] = (),
        name: str = "propagate",
    ) -> None:
        """Add the step that moves the weights of `source` to the contexts in `target`.

        Raises UsageError for a function that is no step or context of this job, or a name that is taken.
        """
        many = [target] if isinstance(target, str) or callable(target) else target
        self._steps.put(
            name,
            {
                "kind": "propagate",
                "needs": self._steps.names_of(needs),
                "source": self._contexts.name_of(source),
                "target": self._contexts.names_of(many),
            },
        )

    def build(self, cluster: Cluster | None = None) -> model.Job:
        """The finished job; with a cluster, also checked against it. Raises SpecError with all faults."""
        from dagrl.spec import job_from_mapping
        from dagrl.spec.sources import Sources

        sources = Sources()
        data: dict[str, Any] = {"version": 1, "job": self.name, **self._settings}
        for section, entries in (("contexts", self._contexts), ("steps", self._steps)):
            data[section] = {
                name: {key: _reference(value, sources) if callable(value) else value for key, value in entry.items()}
                for name, entry in entries.specs.items()
            }
        return job_from_mapping(data, f"job {self.name!r}", Path.cwd(), cluster)


class _Entries:
    """The declared contexts or steps of a job, and which function each was made of."""

    def __init__(self, what: str) -> None:
        #: In a spec's form, but for the functions, which become references in `build`.
        self.specs: dict[str, dict[str, Any]] = {}
        self._what = what
        self._functions: dict[str, object] = {}

    def add(self, name: str | None, function: Callable[..., Any], spec: dict[str, Any]) -> None:
        name = name if name is not None else function.__name__
        self.put(name, spec)
        self._functions[name] = function

    def put(self, name: str, spec: dict[str, Any]) -> None:
        if name in self.specs:
            raise UsageError(f"{name!r} is {self._what} already: give this one another name, with name=...")
        self.specs[name] = spec

    def names_of(self, mentioned: object) -> list[str]:
        if isinstance(mentioned, str) or not isinstance(mentioned, Iterable):
            raise UsageError(f"expected a list of functions or names, got {mentioned!r}")
        return [self.name_of(one) for one in mentioned]

    def name_of(self, mentioned: object) -> str:
        """The name of a function's entry; a name is taken as it is, and judged in `build`."""
        if isinstance(mentioned, str):
            return mentioned
        names = [name for name, function in self._functions.items() if function is mentioned]
        if len(names) > 1:
            raise UsageError(f"{_shown(mentioned)} is {self._what} more than once: name one of {', '.join(names)}")
        if not names:
            raise UsageError(f"{_shown(mentioned)} is not {self._what}")
        return names[0]


def _importable(function: F) -> F:
    """The function, if a worker process can import it.

    Raises UsageError for what only this process knows: lambdas, inner functions, functions typed at a prompt.
    """
    if not (inspect.isfunction(function) or inspect.isclass(function)):
        raise UsageError(f"{function!r} is no function: a step is a plain function at the top level of a file")
    if not function.__qualname__.isidentifier():
        raise UsageError(f"{_shown(function)} is not at the top level of a file, so a worker process cannot import it")
    if _file_of(function) is None:
        raise UsageError(
            f"{_shown(function)} stands in no file, so a worker process cannot import it: "
            "write it to a .py file, a prompt or a notebook has none"
        )
    return function


def _reference(function: Callable[..., Any], sources: Sources) -> str:
    """How a worker process finds the function: `package.module:function`, or `/absolute/file.py:function`."""
    from dagrl.spec.sources import NotFoundError

    file = _file_of(function)
    spec = sys.modules[function.__module__].__spec__
    if spec is not None:
        try:
            if sources.find_module(spec.name) == file:
                return f"{spec.name}:{function.__qualname__}"
        except NotFoundError:
            pass
    return f"{file}:{function.__qualname__}"


def _file_of(function: Callable[..., Any]) -> Path | None:
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    path = Path(file).absolute() if file else None
    return path if path and path.suffix == ".py" and path.is_file() else None


def _shown(function: object) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
