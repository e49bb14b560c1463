"""Objects of the user's: those with `state_dict` and `load_state_dict`, dataclasses, named tuples, enums.

A class is only ever looked up among the modules that are loaded already, by name: a saved state cannot make anything
be imported or run. A `state_dict` is restored through `load_state_dict`, which is given values that are its own.
"""

from __future__ import annotations

import dataclasses
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

from dagrl_local.state.kinds import MISSING, Kind
from dagrl_local.state.tree import Node, RestoreError, UnhashedNode

if TYPE_CHECKING:
    from dagrl_local.state.capture import Walk
    from dagrl_local.state.restore import Restorer


def class_name(value: object) -> str:
    """`module:qualified.name` of a value's class."""
    return f"{type(value).__module__}:{type(value).__qualname__}"


def unhashed_name(value: object) -> UnhashedNode:
    """The same in a skeleton, where it says what to make and is no part of a digest: a file may be moved."""
    return UnhashedNode(class_name(value))


def loaded_class(name: str) -> type:
    """The class of that name in a module that is loaded. Raises RestoreError if there is none."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise RestoreError(f"the saved state holds a {name}, which is not loaded: its build function should import it")
    return found


def _is_stateful(value: object) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, method, None)) for method in ("state_dict", "load_state_dict")
    )


def _capture_stateful(walk: Walk, value: Any) -> Node:
    return walk.item("state_dict()", value.state_dict())


def _restore_stateful(restorer: Restorer, payload: Node, live: Any) -> Any:
    if not _is_stateful(live):
        raise RestoreError(
            f"the saved state needs an object with load_state_dict here, its build function made {live!r}"
        )
    restorer.meet(live)
    live.load_state_dict(restorer.fresh(payload))
    return live


def _capture_enum(walk: Walk, value: Enum) -> Node:
    return [unhashed_name(value), walk.item("value", value.value)]


def _restore_enum(restorer: Restorer, payload: Node, _live: object) -> Any:
    name, node = payload
    return loaded_class(name)(restorer.value(node, MISSING))


def _is_dataclass(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _capture_dataclass(walk: Walk, value: Any) -> Node:
    names = [each.name for each in dataclasses.fields(value)]
    return [
        unhashed_name(value),
        {name: walk.item(name, getattr(value, name)) for name in names if hasattr(value, name)},
    ]


def _restore_dataclass(restorer: Restorer, payload: Node, live: object) -> Any:
    name, nodes = payload
    of_class = loaded_class(name)
    if not dataclasses.is_dataclass(of_class):
        raise RestoreError(f"the saved state holds a {name}, which is no dataclass")
    old = live if type(live) is of_class else None
    frozen: bool = of_class.__dataclass_params__.frozen  # type: ignore[attr-defined]
    result: Any = old if old is not None and not frozen else object.__new__(of_class)
    restorer.meet(result)
    for key, node in nodes.items():
        object.__setattr__(result, key, restorer.item(key, node, getattr(old, key, MISSING)))
    return result


def _is_named_tuple(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _capture_named_tuple(walk: Walk, value: Any) -> Node:
    return [unhashed_name(value), [walk.item(*pair) for pair in zip(value._fields, value, strict=True)]]


def _restore_named_tuple(restorer: Restorer, payload: Node, live: object) -> Any:
    name, nodes = payload
    of_class = loaded_class(name)
    old: Any = live if type(live) is of_class else [MISSING] * len(nodes)
    if not issubclass(of_class, tuple):
        raise RestoreError(f"the saved state holds a {name}, which is no tuple")
    return tuple.__new__(of_class, [restorer.value(node, each) for node, each in zip(nodes, old, strict=True)])


KINDS = (
    Kind("object.enum", lambda value: isinstance(value, Enum), _capture_enum, _restore_enum, identity=False),
    Kind("object.stateful", _is_stateful, _capture_stateful, _restore_stateful),
    Kind("object.dataclass", _is_dataclass, _capture_dataclass, _restore_dataclass),
    Kind("object.tuple", _is_named_tuple, _capture_named_tuple, _restore_named_tuple, identity=False),
)
