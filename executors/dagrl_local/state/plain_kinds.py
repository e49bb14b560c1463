"""Values of Python itself: containers, bytes, numbers that JSON cannot hold, `random.Random`.

Containers are restored in place, so whoever else holds them sees the restored content; what cannot change is made anew
when it differs.
"""

from __future__ import annotations

import base64
import json
import random
import struct
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dagrl_local.state.kinds import MISSING, Kind, kind_of
from dagrl_local.state.tree import Node, RestoreError, UnsupportedStateError, plain

if TYPE_CHECKING:
    from dagrl_local.state.capture import Walk
    from dagrl_local.state.restore import Restorer

_MAPPINGS = (dict, OrderedDict, Counter, defaultdict)
_FACTORIES = {factory.__name__: factory for factory in (int, float, list, dict, set, str)}
#: Kinds whose values are equal when they look equal, so that a restored one finds its entry in a mapping or a set.
_KEYS = frozenset(("plain.tuple", "plain.bytes", "plain.float", "object.enum", "numpy.scalar"))


def encode_bytes(data: bytes) -> str:
    """Bytes in JSON."""
    return base64.b64encode(data).decode()


def decode_bytes(text: str) -> bytes:
    """The bytes again."""
    return base64.b64decode(text)


def random_state(generator: random.Random) -> Node:
    """The state of a Python generator, in JSON."""
    version, words, gauss = generator.getstate()
    return [version, encode_bytes(array("I", words).tobytes()), gauss]


def set_random_state(generator: random.Random, state: Node) -> None:
    """Bring a Python generator back to what `random_state` returned."""
    version, words, gauss = state
    generator.setstate((version, tuple(array("I", decode_bytes(words))), gauss))


def _capture_float(_: Walk, value: float) -> str:
    return struct.pack(">d", value).hex()


def _restore_float(_: Restorer, payload: str, _live: object) -> float:
    (value,) = struct.unpack(">d", bytes.fromhex(payload))
    return float(value)


def _capture_complex(_: Walk, value: complex) -> str:
    return struct.pack(">dd", value.real, value.imag).hex()


def _restore_complex(_: Restorer, payload: str, _live: object) -> complex:
    return complex(*struct.unpack(">dd", bytes.fromhex(payload)))


def _capture_list(walk: Walk, value: list[Any] | tuple[Any, ...]) -> Node:
    return [walk.item(index, each) for index, each in enumerate(value)]


def _restore_list(restorer: Restorer, payload: list[Node], live: object) -> list[Any]:
    result: list[Any] = live if type(live) is list else []
    restorer.meet(result)
    result[:] = _items(restorer, payload, list(result))
    return result


def _restore_tuple(restorer: Restorer, payload: list[Node], live: object) -> tuple[Any, ...]:
    old = live if type(live) is tuple else ()
    new = tuple(_items(restorer, payload, old))
    return old if len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True)) else new


def _items(restorer: Restorer, nodes: list[Node], live: list[Any] | tuple[Any, ...]) -> list[Any]:
    return [
        restorer.item(index, node, live[index] if index < len(live) else MISSING) for index, node in enumerate(nodes)
    ]


def _capture_deque(walk: Walk, value: deque[Any]) -> Node:
    return [value.maxlen, [walk.item(index, each) for index, each in enumerate(value)]]


def _restore_deque(restorer: Restorer, payload: Node, live: object) -> deque[Any]:
    maxlen, nodes = payload
    result = live if isinstance(live, deque) and live.maxlen == maxlen else deque(maxlen=maxlen)
    restorer.meet(result)
    items = _items(restorer, nodes, list(result))
    result.clear()
    result.extend(items)
    return result


def _capture_set(walk: Walk, value: set[Any] | frozenset[Any]) -> Node:
    # A set has no order of its own; the nodes' text gives it the same one everywhere.
    return sorted((_key(walk, each) for each in value), key=lambda node: json.dumps(node, default=plain))


def _restore_set(restorer: Restorer, payload: list[Node], live: object) -> set[Any]:
    result = live if type(live) is set else set()
    items = [restorer.value(node, MISSING) for node in payload]
    result.clear()
    result.update(items)
    return result


def _restore_frozenset(restorer: Restorer, payload: list[Node], _live: object) -> frozenset[Any]:
    return frozenset(restorer.value(node, MISSING) for node in payload)


def _capture_dict(walk: Walk, value: Mapping[Any, Any]) -> Node:
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: walk.item(key, each) for key, each in value.items()}
    factory = getattr(value, "default_factory", None)
    if factory is not None and _FACTORIES.get(getattr(factory, "__name__", "")) is not factory:
        raise UnsupportedStateError(f"a defaultdict of {factory!r} cannot be saved; use a plain dict")
    name = factory.__name__ if factory is not None else None
    return [type(value).__name__, name, [[_key(walk, key), walk.item(key, each)] for key, each in value.items()]]


def _restore_dict(restorer: Restorer, payload: Node, live: object) -> dict[Any, Any]:
    if isinstance(payload, dict):
        name, factory, pairs = "dict", None, list(payload.items())
    else:
        name, factory, pairs = payload
        pairs = [(restorer.value(key, MISSING), node) for key, node in pairs]
    old: Any = live
    result: dict[Any, Any] = old if _is_mapping(old, name) else _new_mapping(name, factory)
    restorer.meet(result)
    items = {key: restorer.item(key, node, result.get(key, MISSING)) for key, node in pairs}
    if list(result) != list(items):
        result.clear()
    for key, value in items.items():
        result[key] = value  # noqa: PERF403 - not `update`: a Counter would add
    return result


def _is_mapping(value: object, name: str) -> bool:
    return type(value) in _MAPPINGS and type(value).__name__ == name


def _new_mapping(name: str, factory: str | None) -> dict[Any, Any]:
    match name:
        case "dict":
            return {}
        case "OrderedDict":
            return OrderedDict()
        case "Counter":
            return Counter()
        case "defaultdict":
            return defaultdict(_FACTORIES[factory] if factory is not None else None)
        case _:
            raise RestoreError(f"the saved state holds an unknown mapping, {name!r}")


def _key(walk: Walk, key: object) -> Node:
    node = walk.node(key)
    if isinstance(node, dict) and kind_of(key).tag not in _KEYS:
        raise UnsupportedStateError(f"a {type(key).__name__} cannot be saved as a key or in a set")
    return node


def _capture_bytes(_: Walk, value: bytes | bytearray) -> str:
    return encode_bytes(bytes(value))


def _restore_bytes(_: Restorer, payload: str, _live: object) -> bytes:
    return decode_bytes(payload)


def _restore_bytearray(_: Restorer, payload: str, live: object) -> bytearray:
    result = live if type(live) is bytearray else bytearray()
    result[:] = decode_bytes(payload)
    return result


def _capture_random(_: Walk, value: random.Random) -> Node:
    if isinstance(value, random.SystemRandom):
        raise UnsupportedStateError("a SystemRandom has no state, so its draws cannot repeat; use random.Random")
    return random_state(value)


def _restore_random(_: Restorer, payload: Node, live: object) -> random.Random:
    result = live if isinstance(live, random.Random) else random.Random()
    set_random_state(result, payload)
    return result


KINDS = (
    Kind("plain.float", lambda value: type(value) is float, _capture_float, _restore_float, identity=False),
    Kind("plain.complex", lambda value: type(value) is complex, _capture_complex, _restore_complex, identity=False),
    Kind("plain.dict", lambda value: type(value) in _MAPPINGS, _capture_dict, _restore_dict),
    Kind("plain.list", lambda value: type(value) is list, _capture_list, _restore_list),
    Kind("plain.tuple", lambda value: type(value) is tuple, _capture_list, _restore_tuple, identity=False),
    Kind("plain.deque", lambda value: type(value) is deque, _capture_deque, _restore_deque),
    Kind("plain.set", lambda value: type(value) is set, _capture_set, _restore_set),
    Kind("plain.frozenset", lambda value: type(value) is frozenset, _capture_set, _restore_frozenset, identity=False),
    Kind("plain.bytes", lambda value: type(value) is bytes, _capture_bytes, _restore_bytes, identity=False),
    Kind("plain.bytearray", lambda value: type(value) is bytearray, _capture_bytes, _restore_bytearray),
    Kind("plain.random", lambda value: isinstance(value, random.Random), _capture_random, _restore_random),
)
