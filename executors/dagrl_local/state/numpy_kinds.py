"""numpy: arrays, scalars, dtypes, and both families of random generators.

Arrays are restored in place where the live one has the same form, so views of it see the restored values. This module
is imported only where numpy is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from dagrl_local.state.kinds import MISSING, Kind
from dagrl_local.state.plain_kinds import decode_bytes, encode_bytes
from dagrl_local.state.regions import ArrayRegion
from dagrl_local.state.tree import Leaf, LeafNode, Node, RestoreError, Tree, UnsupportedStateError

if TYPE_CHECKING:
    from dagrl_local.state.capture import Walk
    from dagrl_local.state.restore import Restorer

_Array = np.ndarray[Any, Any]


class ArrayPlacement:
    """The arrays of one restore: into live ones where they fit, else into new memory, shared as it was."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        #: The memory that each region lies in now: a live array's, or new.
        self._owners: dict[int, _Array] = {}
        self._taken: set[int] = set()

    def place(self, index: int, live: object) -> _Array:
        """The array of a leaf: the live one where it fits, or a new one."""
        leaf = self._tree.leaves[index]
        saved = array_view(self._tree, index)
        if isinstance(live, np.ndarray) and _same_form(live, saved) and self._takes(leaf.region, live):
            np.copyto(live, saved)
            return live
        return _array_on(leaf, self._memory(leaf.region))

    def _takes(self, region: int, live: _Array) -> bool:
        """Whether a region may lie where a live array does: it lies nowhere else, and nothing else lies there."""
        owner = _owner(live)
        if region in self._owners:
            return self._owners[region] is owner
        if id(owner) in self._taken:
            return False
        self._owners[region] = owner
        self._taken.add(id(owner))
        return True

    def _memory(self, region: int) -> memoryview | bytearray:
        owner = self._owners.get(region)
        nbytes = self._tree.regions[region].nbytes
        if owner is not None and owner.nbytes == nbytes and owner.flags.c_contiguous:
            return owner.reshape(-1).view(np.uint8).data
        if owner is None:
            owner = np.frombuffer(bytearray(self._tree.region_bytes(region) or b""), np.uint8)
            self._owners[region] = owner
            return owner.data
        return bytearray(self._tree.region_bytes(region) or b"")


def array_view(tree: Tree, index: int) -> _Array:
    """A captured array as it lies in the tree's own memory."""
    leaf = tree.leaves[index]
    return _array_on(leaf, tree.region_bytes(leaf.region) or b"")


def _array_on(leaf: Leaf, data: bytearray | memoryview | bytes) -> _Array:
    return np.ndarray(tuple(leaf.shape), np.dtype(leaf.dtype), data, leaf.offset, tuple(leaf.strides))


def _same_form(live: _Array, saved: _Array) -> bool:
    return (
        live.flags.writeable
        and (live.dtype, live.shape) == (saved.dtype, saved.shape)
        and not (0 in live.strides and live.size > 1)
    )


def _owner(array: _Array) -> _Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _capture_array(walk: Walk, array: _Array) -> Any:
    if array.dtype.hasobject:
        if array.dtype != np.dtype(object):
            raise UnsupportedStateError(f"an array of {array.dtype} cannot be saved")
        return {"numpy.objects": [list(array.shape), [walk.item(i, each) for i, each in enumerate(array.ravel())]]}
    if array.dtype.names is not None or type(array) is not np.ndarray:
        raise UnsupportedStateError(f"a {type(array).__name__} of {array.dtype} cannot be saved; use plain arrays")
    known = walk.known_leaf(array)
    return LeafNode("numpy.array", _new_leaf(walk, array) if known is None else known)


def _new_leaf(walk: Walk, array: _Array) -> int:
    index = walk.new_leaf(array)
    owner = _owner(array)
    start, end = byte_bounds(owner)
    region = walk.known_region(start, end - start)
    if region is None:
        region = walk.new_region(start, ArrayRegion(owner, start, end - start))
    offset = array.ctypes.data - start if array.size else 0
    walk.leaves[index] = Leaf("numpy", region, array.dtype.str, array.shape, array.strides, offset)
    return index


def _restore_objects(restorer: Restorer, payload: Node, live: object) -> _Array:
    shape, nodes = payload
    fits = isinstance(live, np.ndarray) and live.dtype == np.dtype(object) and list(live.shape) == shape
    result: _Array = live if fits else np.empty(shape, object)  # type: ignore[assignment]
    old = list(result.ravel()) if fits else [MISSING] * len(nodes)
    for index, (node, each) in enumerate(zip(nodes, old, strict=True)):
        # Neither `flat` nor a slice: both would spread a list over the array.
        result[np.unravel_index(index, result.shape)] = restorer.item(index, node, each)
    return result


def _capture_scalar(_: Walk, scalar: np.generic) -> Node:
    if scalar.dtype.hasobject or scalar.dtype.names is not None:
        raise UnsupportedStateError(f"a numpy {type(scalar).__name__} cannot be saved")
    return [scalar.dtype.str, encode_bytes(scalar.tobytes())]


def _restore_scalar(_: Restorer, payload: Node, _live: object) -> np.generic:
    dtype, data = payload
    scalar: np.generic = np.frombuffer(decode_bytes(data), np.dtype(dtype))[0]
    return scalar


def _generator_node(value: object) -> Node:
    """A bit generator's state, with its arrays as bytes."""
    match value:
        case dict():
            return {key: _generator_node(each) for key, each in value.items()}
        case np.ndarray():
            return [value.dtype.str, encode_bytes(value.tobytes())]
        case np.integer():
            return int(value)
        case _:
            return value


def _generator_value(node: Node) -> Any:
    match node:
        case dict():
            return {key: _generator_value(each) for key, each in node.items()}
        case [dtype, data]:
            return np.frombuffer(decode_bytes(data), np.dtype(dtype)).copy()
        case _:
            return node


def random_state(generator: np.random.RandomState) -> Node:
    """The state of a legacy generator, in JSON."""
    return _generator_node(generator.get_state(legacy=False))


def set_random_state(generator: np.random.RandomState, state: Node) -> None:
    """Bring a legacy generator back to what `random_state` returned."""
    generator.set_state(_generator_value(state))


def _capture_generator(_: Walk, generator: np.random.Generator) -> Node:
    return _generator_node(generator.bit_generator.state)


def _restore_generator(_: Restorer, payload: Node, live: object) -> np.random.Generator:
    state = _generator_value(payload)
    name = state["bit_generator"]
    if isinstance(live, np.random.Generator) and type(live.bit_generator).__name__ == name:
        live.bit_generator.state = state
        return live
    made = getattr(np.random, name, None)
    if not (isinstance(made, type) and issubclass(made, np.random.BitGenerator)):
        raise RestoreError(f"the saved state holds a generator of unknown kind {name!r}")
    result = np.random.Generator(made())
    result.bit_generator.state = state
    return result


def _capture_random_state(_: Walk, generator: np.random.RandomState) -> Node:
    return random_state(generator)


def _restore_random_state(_: Restorer, payload: Node, live: object) -> np.random.RandomState:
    result = live if isinstance(live, np.random.RandomState) else np.random.RandomState()
    set_random_state(result, payload)
    return result


KINDS = (
    Kind(
        "numpy.array",
        lambda value: isinstance(value, np.ndarray),
        _capture_array,
        lambda restorer, payload, live: restorer.leaf(payload, live),
        is_leaf=True,
    ),
    Kind("numpy.objects", lambda _: False, _capture_array, _restore_objects, is_leaf=True),
    Kind("numpy.scalar", lambda value: isinstance(value, np.generic), _capture_scalar, _restore_scalar, identity=False),
    Kind(
        "numpy.dtype",
        lambda value: isinstance(value, np.dtype),
        lambda _, value: value.str,
        lambda _, payload, __: np.dtype(payload),
        identity=False,
    ),
    Kind(
        "numpy.generator",
        lambda value: isinstance(value, np.random.Generator),
        _capture_generator,
        _restore_generator,
    ),
    Kind(
        "numpy.random_state",
        lambda value: isinstance(value, np.random.RandomState),
        _capture_random_state,
        _restore_random_state,
    ),
)
