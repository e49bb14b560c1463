"""References to the user's functions: `package.module:function`, and `./steps.py:function` beside the spec.

Owns their check and their full form (an absolute file, or the module as it is), without running a line of the user's
code. A file's own troubles (a syntax error, a package that is not installed) are told once, however many steps name it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath

from dagrl.errors import Fault, did_you_mean
from dagrl.spec.loader import shown_file
from dagrl.spec.places import Path, Places, shown
from dagrl.spec.scalars import listed
from dagrl.spec.schema import JobSpec
from dagrl.spec.sources import NotFoundError, Source, Sources, UnreadableSourceError, imported_modules

#: Ready steps come with the package, what they import comes with an extra.
_RECIPES = "dagrl.recipes."


@dataclass(frozen=True, slots=True)
class Container:
    """The module or the file that holds a function."""

    #: As a message names it.
    name: str
    #: As a worker finds it, whatever its working directory.
    full: str
    #: None for a module that has no source to read.
    source: FilePath | None


class Callables:
    """The references of one document; `full` and `faults` fill up as they are looked at."""

    def __init__(self, base: FilePath, places: Places, sources: Sources) -> None:
        self.faults: list[Fault] = []
        #: The full form of each reference that leads somewhere.
        self.full: dict[str, str] = {}
        self._base = base
        self._places = places
        self._sources = sources
        self._told: set[str] = set()

    def check(self, spec: JobSpec, skipped: Collection[Path]) -> None:
        """Look at every `build` and every `run` of a spec, but for those at the skipped paths."""
        references = [(context.build, ("contexts", name, "build")) for name, context in spec.contexts.items()]
        references += [(step.run, ("steps", name, "run")) for name, step in spec.steps.items() if step.run]
        for reference, path in references:
            if path not in skipped:
                self._check(reference, path)

    def _check(self, reference: str, path: Path) -> None:
        name, _, function = reference.rpartition(":")
        try:
            container = self._file(name) if name.endswith(".py") or "/" in name else self._module(name)
            if container.source is not None:
                source = self._read(container, container.source, path)
                if source is not None:
                    self._tell_missing_imports(source, container, function, path)
                    _check_function(source, function, name)
        except NotFoundError as error:
            self.faults.append(self._places.at_value(path, error.args[0]))
        else:
            self.full[reference] = f"{container.full}:{function}"

    def _file(self, name: str) -> Container:
        # Not `resolve`: a link to a file of steps may well have other files beside it than its target has.
        file = FilePath(os.path.abspath(self._base / name))  # noqa: PTH100
        if not name.endswith(".py"):
            raise NotFoundError(f"{name!r} is no Python file: its name must end in '.py'")
        if not _is_file(file):
            folder = name.removesuffix(file.name)
            siblings = [f"{folder}{other.name}" for other in file.parent.glob("*.py")]
            raise NotFoundError(f"no file {name!r} in {shown_file(self._base)}{did_you_mean(name, siblings)}")
        return Container(name, str(file), file)

    def _module(self, name: str) -> Container:
        if not all(part.isidentifier() for part in name.split(".")):
            raise NotFoundError(
                f"{name!r} is neither a module nor a file: write './file.py' for a file beside the spec"
            )
        try:
            return Container(name, name, self._sources.find_module(name))
        except NotFoundError as error:
            beside = self._base / f"{name}.py"
            hint = f" (did you mean './{name}.py', the file beside the spec?)" if _is_file(beside) else ""
            raise NotFoundError(f"{error.args[0]}{hint}") from error

    def _read(self, container: Container, source: FilePath, path: Path) -> Source | None:
        """What the file defines; None, and a fault at its own place, when Python cannot read it."""
        try:
            return self._sources.read(source)
        except UnreadableSourceError as error:
            if container.full not in self._told:
                self._told.add(container.full)
                shown_name = shown_file(self._base / container.name) if container.name.endswith(".py") else str(source)
                message = f"{error.message} (named by {shown(path)} of {self._places.file})"
                self.faults.append(Fault(shown_name, error.line, error.column, "", message))
            return None

    def _tell_missing_imports(self, source: Source, container: Container, function: str, path: Path) -> None:
        modules = list(source.imports)
        if container.name.startswith(_RECIPES):
            modules += self._recipe_imports(source, function)
        for module in dict.fromkeys(modules):
            root = module.partition(".")[0]
            if root in self._told or (self._sources.has_root(root) if root else not container.name.endswith(".py")):
                continue
            self._told.add(root)
            self.faults.append(self._places.at_value(path, _missing_import(container, root)))

    def _recipe_imports(self, source: Source, function: str) -> Iterator[str]:
        """What a ready step needs once it is called: recipes import what is heavy inside their functions."""
        definition = source.definitions.get(function)
        ahead = [*source.imports, *imported_modules(definition.body if isinstance(definition, ast.FunctionDef) else ())]
        seen: set[str] = set()
        while ahead:
            module = ahead.pop()
            yield module
            if module.startswith(_RECIPES) and module not in seen:
                seen.add(module)
                file = self._sources.find_module(module)
                ahead += self._sources.read(file).imports if file else ()


def _missing_import(container: Container, root: str) -> str:
    if not root:
        return f"{container.name} has a relative import, which only works inside a package"
    message = f"{container.name} imports {root!r}, which is not installed"
    if container.name.startswith(_RECIPES):
        return f"{message}: pip install 'dagrl[recipes]'"
    if container.name.endswith(".py") and _is_file(FilePath(container.full).with_name(f"{root}.py")):
        return f"{message}: a file of steps cannot import the files beside it, only installed packages"
    return message


def _is_file(path: FilePath) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _check_function(source: Source, function: str, container: str) -> None:
    """Raises NotFoundError when the file defines no such function, or one that cannot be a step."""
    statement = source.definitions.get(function)
    if statement is None:
        if source.may_hold_more and function.isidentifier():
            return
        known = [name for name, found in source.definitions.items() if isinstance(found, ast.FunctionDef)]
        hint = did_you_mean(function, known) or f"; its functions: {listed(known)}"
        raise NotFoundError(f"{container} defines no {function!r} at its top level{hint}")
    match statement:
        case ast.AsyncFunctionDef():
            raise NotFoundError(f"{function!r} is async: steps are plain functions, write 'def {function}'")
        case ast.Assign(value=ast.Constant()) | ast.AnnAssign(value=ast.Constant()):
            raise NotFoundError(f"{function!r} of {container} is a constant, not a function")
        case ast.FunctionDef(args=arguments, decorator_list=[]) if not _takes_one(arguments):
            raise NotFoundError(f"{function!r} of {container} must take exactly one argument, its context")


def _takes_one(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    required = positional - len(arguments.defaults)
    keywords = list(_required_keywords(arguments))
    return required <= 1 and (positional >= 1 or arguments.vararg is not None) and not keywords


def _required_keywords(arguments: ast.arguments) -> Iterator[str]:
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is None:
            yield argument.arg
