"""What Python modules and files define, found out by reading them and never by running them.

Owns the search for a module's source and what its syntax tree says: names at the top level, and imports that a first
import of it would need. Importing it here instead would run the user's code in the supervisor, load torch into it, and
take seconds; a worker imports it for real, later.
"""

from __future__ import annotations

import ast
import importlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path as FilePath
from pkgutil import iter_modules

from dagrl.errors import did_you_mean

#: Statements whose insides still run when the module is imported.
_COMPOUND = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)


class NotFoundError(Exception):
    """A module, a file or a function that is not there or is of no use; the message is for the user."""


class UnreadableSourceError(Exception):
    """A file that Python could not import either; `line` and `column` count from 1, and are 0 for the whole file."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.message, self.line, self.column = message, line, column
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Source:
    """What a module's source says about its top level."""

    #: The last statement that gives each name a value.
    definitions: Mapping[str, ast.stmt]
    #: Whether other names may appear when it runs: `from x import *`, or a `__getattr__`.
    may_hold_more: bool
    #: Modules that an import of it needs, those in `try` and `if` blocks left out; relative ones start with a dot.
    imports: Sequence[str]


class Sources:
    """Modules and files as they are now; each is looked for and read once."""

    def __init__(self) -> None:
        importlib.invalidate_caches()
        self._roots: dict[str, ModuleSpec | None] = {}
        self._read: dict[FilePath, Source | UnreadableSourceError] = {}

    def has_root(self, name: str) -> bool:
        """Whether there is a top-level module of that name."""
        return self._root(name) is not None

    def find_module(self, name: str) -> FilePath | None:
        """A module's source file; None for a module that has none. Raises NotFoundError saying what is missing."""
        root, *parts = name.split(".")
        spec = self._root(root)
        if spec is None:
            raise NotFoundError(f"no module {root!r} is installed")
        package = root
        for part in parts:
            locations = list(spec.submodule_search_locations or ())
            if not locations:
                raise NotFoundError(f"{package!r} is no package: it has no module {part!r}")
            # By its last name alone: a dotted one would ask for the parent, which is not imported.
            spec = PathFinder.find_spec(part, locations)
            if spec is None:
                known = [module.name for module in iter_modules(locations)]
                raise NotFoundError(f"package {package!r} has no module {part!r}{did_you_mean(part, known)}")
            package = f"{package}.{part}"
        return _source_file(spec)

    def read(self, path: FilePath) -> Source:
        """What one file defines. Raises UnreadableSourceError when Python could not read it."""
        if path not in self._read:
            try:
                self._read[path] = _parsed(path)
            except UnreadableSourceError as error:
                self._read[path] = error
        found = self._read[path]
        if isinstance(found, UnreadableSourceError):
            raise found
        return found

    def _root(self, name: str) -> ModuleSpec | None:
        if name not in self._roots:
            self._roots[name] = _find_root(name)
        return self._roots[name]


def _find_root(name: str) -> ModuleSpec | None:
    """What a fresh process would find: `importlib.util.find_spec` would first look at what this one has loaded."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, None) if find else None
        if spec is not None:
            return spec
    return None


def _source_file(spec: ModuleSpec) -> FilePath | None:
    """The file to read; None for a compiled module, one in an archive, or a package without `__init__.py`."""
    source = FilePath(spec.origin or "")
    return source if source.suffix == ".py" and source.is_file() else None


def _parsed(path: FilePath) -> Source:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        raise UnreadableSourceError(f"cannot be read: {error.strerror}") from error
    except SyntaxError as error:
        raise UnreadableSourceError(error.msg, error.lineno or 0, max(error.offset or 1, 1)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableSourceError(f"cannot be parsed: {error}") from error
    statements = list(_run_on_import(tree.body))
    definitions = {name: statement for statement in statements for name in _names(statement)}
    return Source(definitions, bool({"*", "__getattr__"} & definitions.keys()), imported_modules(tree.body))


def _run_on_import(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, _COMPOUND):
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.ExceptHandler | ast.match_case):
                    yield from _run_on_import(part.body)
                elif isinstance(part, ast.stmt):
                    yield from _run_on_import([part])


def _names(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.Assign(targets=targets):
            yield from _stored(targets)
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.For(target=target):
            yield from _stored([target])
        case ast.With(items=items):
            yield from _stored([item.optional_vars for item in items if item.optional_vars])


def _stored(targets: Sequence[ast.expr]) -> Iterator[str]:
    nodes = (node for target in targets for node in ast.walk(target))
    return (node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def imported_modules(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The modules that these statements import for certain, each once."""
    modules: dict[str, None] = {}
    for statement in body:
        match statement:
            case ast.Import(names=aliases):
                modules.update(dict.fromkeys(alias.name for alias in aliases))
            case ast.ImportFrom(module=module, level=level):
                modules["." * level + (module or "")] = None
    return tuple(modules)
