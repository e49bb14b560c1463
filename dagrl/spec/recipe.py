"""`recipe: grpo`: contexts, steps and default params that somebody prepared.

A recipe is a plain dict in a spec's own form, found by the entry point group `dagrl.recipes`, so that anybody's package
can bring one. What the spec declares itself wins, key by key: `steps: {reward: {timeout: 5m}}` changes one key of the
recipe's reward step, and null takes out a key, or a whole step or context. Never looks at what the keys mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from dagrl.errors import did_you_mean
from dagrl.model import JsonValue
from dagrl.plugins import plugins
from dagrl.spec.fields import got
from dagrl.spec.loader import Document
from dagrl.spec.places import Path
from dagrl.spec.plain import PlainReader
from dagrl.spec.scalars import listed

GROUP = "dagrl.recipes"
HERE: Path = ("recipe",)

_SECTIONS = ("contexts", "steps", "params")


def expand_recipe(document: Document) -> Document:
    """The document with what its recipe brings; unchanged when it names none."""
    data, places = document.data, document.places
    if not isinstance(data, dict) or "recipe" not in data:
        return document
    own = {key: value for key, value in data.items() if key != "recipe"}
    if places.was_refused(HERE):
        return Document(own, places, document.faults)
    try:
        recipe = _find(data["recipe"])
    except LookupError as error:
        places.refused.add(HERE)
        return Document(own, places, [*document.faults, places.at_value(HERE, error.args[0])])
    brought: set[Path] = set()
    whole: dict[str, object] = dict(own)
    for section, base in recipe.items():
        declared = own.get(section) or {}
        if isinstance(declared, dict):
            lay = _params_over if section == "params" else _entries_over
            whole[section] = lay(base, declared, (section,), brought)
    reader = PlainReader(places.bring(dict.fromkeys(brought, HERE)))
    plain = reader.read(whole)
    return Document(plain, reader.places, [*document.faults, *reader.faults])


def _find(name: JsonValue) -> Mapping[str, Mapping[str, object]]:
    """The recipe of that name. Raises LookupError with the reason when it cannot be used."""
    installed = plugins(GROUP)
    if not isinstance(name, str) or name not in installed:
        hint = did_you_mean(name, installed) if isinstance(name, str) else ""
        raise LookupError(f"expected an installed recipe ({listed(sorted(installed))}), {got(name)}{hint}")
    try:
        # Anybody's package may fail in any way when it is imported.
        recipe = installed[name].load()
    except Exception as error:
        reason = " ".join(str(error).split())
        raise LookupError(f"recipe {name!r} cannot be loaded: {type(error).__name__}: {reason}") from error
    if _is_recipe(recipe):
        return recipe
    raise LookupError(f"recipe {name!r} is no mapping of {', '.join(_SECTIONS)} to mappings")


def _is_recipe(value: object) -> TypeGuard[Mapping[str, Mapping[str, object]]]:
    return (
        isinstance(value, Mapping)
        and set(value) <= set(_SECTIONS)
        and all(isinstance(section, Mapping) for section in value.values())
    )


def _params_over(
    base: Mapping[str, object], own: Mapping[str, object], path: Path, brought: set[Path]
) -> dict[str, object]:
    brought.update((*path, key) for key in base if key not in own)
    return {**base, **own}


def _entries_over(
    base: Mapping[str, object], own: Mapping[str, object], path: Path, brought: set[Path]
) -> dict[str, object]:
    entries = _params_over(base, own, path, brought)
    for name, declared in own.items():
        prepared = base.get(name)
        if declared is None and name in base:
            del entries[name]
        elif isinstance(declared, Mapping) and isinstance(prepared, Mapping):
            entries[name] = _params_over(prepared, declared, (*path, name), brought)
    return entries
