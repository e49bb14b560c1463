"""What a propagate hands over: the weights of one context, published once, taken by others in place.

Weights are, in this order: what the state's own `weights()` returns; the modules in it by name; the objects with
`state_dict` in it by name. Names, shapes and dtypes of both sides must agree: a weight that found no taker would make
samples that are not the trainer's, and nobody would see.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from typing import Any

from dagrl_local.state import Scan, Tree
from dagrl_local.state.kinds import MISSING
from dagrl_local.state.restore import Restorer
from dagrl_local.state.tree import Node, PlacedError

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

#: Name of the one part of a state that is no mapping.
_WHOLE = ""


class WeightsError(PlacedError):
    """Weights that cannot be published, or do not fit where they are loaded."""


def weights_of(state: Any) -> Scan:
    """The weights in a state, ready to be copied out. Raises WeightsError if it has none."""
    if _has_hooks(state):
        return Scan({_WHOLE: state.weights()})
    modules = _modules(state)
    if modules:
        return Scan({name: _named_tensors(module) for name, module in modules.items()})
    stateful = _stateful(state)
    if not stateful:
        raise WeightsError(
            "the source holds no weights: no torch module, nothing with state_dict(), and no weights() of its own"
        )
    return Scan({name: each.state_dict() for name, each in stateful.items()})


def load_weights(state: Any, tree: Tree) -> list[tuple[Any, Any]]:
    """Take published weights into a state; returns live tensors with what was published for them, where it is known.

    Raises WeightsError naming the tensor that does not fit.
    """
    if _has_hooks(state):
        weights = _values(tree)
        state.load_weights(weights.get(_WHOLE, weights))
        return []
    modules = _modules(state)
    if modules:
        published: Mapping[str, Node] = tree.root["plain.dict"]
        taken: list[tuple[Any, Any]] = []
        for name, node, module in _pairs(published, modules):
            taken += _load_module(module, node.get("plain.dict", {}), tree, name)
        return taken
    for _, value, target in _pairs(_values(tree), _stateful(state)):
        target.load_state_dict(value)
    return []


def _values(tree: Tree) -> dict[str, Any]:
    values: dict[str, Any] = Restorer(tree, "cpu").value(tree.root, MISSING)
    return values


def _pairs(published: Mapping[str, Any], targets: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """What was published beside what takes it; two that are the only ones of their state need no common name."""
    if len(published) == len(targets) == 1 and _WHOLE in {*published, *targets}:
        return [(next(iter(targets)), next(iter(published.values())), next(iter(targets.values())))]
    pairs = [(name, published[name], target) for name, target in targets.items() if name in published]
    if not pairs:
        raise WeightsError(
            f"the source published {_listed(published)}, the target holds {_listed(targets)}; give them a common name"
        )
    return pairs


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(repr(name) if name else "one module" for name in names) or "nothing that takes weights"


def _load_module(module: Any, nodes: Mapping[str, Node], tree: Tree, name: str) -> list[tuple[Any, Any]]:
    import torch

    from dagrl_local.state.placement import tensor_view

    live = _named_tensors(module)
    for missing in sorted(nodes.keys() ^ live.keys()):
        side = "the source published no such tensor" if missing in live else "the target has no such tensor"
        raise WeightsError(side).inside(missing).inside(name)
    targets, sources = [], []
    for key, tensor in live.items():
        source = tensor_view(tree, nodes[key]["torch.tensor"])
        if (source.shape, source.dtype) != (tensor.shape, tensor.dtype):
            there, here = (f"{each.dtype} {list(each.shape)}" for each in (source, tensor))
            raise WeightsError(f"published as {there}, the target has {here}").inside(key).inside(name)
        targets.append(tensor)
        sources.append(source)
    with torch.no_grad():
        torch._foreach_copy_(targets, sources)
    return list(zip(targets, sources, strict=True))


def same_bytes(live: Any, published: Any) -> bool:
    """Whether two tensors hold the same bytes: NaN equals itself, and -0.0 is not 0.0."""
    mine, theirs = live.detach().cpu().contiguous(), published.contiguous()
    size: int = mine.numel() * mine.element_size()
    return size == theirs.numel() * theirs.element_size() and not _memcmp(mine.data_ptr(), theirs.data_ptr(), size)


def _named_tensors(module: Any) -> dict[str, Any]:
    """Parameters, and the buffers that a state_dict holds; other buffers are caches that each side fills by itself."""
    from dagrl_local.state.torch_kinds import walk_modules

    found = {}
    for prefix, each in walk_modules(module):
        kept = each._buffers.keys() - each._non_persistent_buffers_set  # noqa: SLF001
        named = {**each._parameters, **{name: each._buffers[name] for name in kept}}  # noqa: SLF001
        found.update({prefix + name: tensor for name, tensor in named.items() if tensor is not None})
    return found


def _has_hooks(state: Any) -> bool:
    return callable(getattr(state, "weights", None)) and callable(getattr(state, "load_weights", None))


def _modules(state: Any) -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    parts = state if isinstance(state, Mapping) else {_WHOLE: state}
    return {name: part for name, part in parts.items() if isinstance(part, torch.nn.Module)}


def _stateful(state: Any) -> dict[str, Any]:
    parts = state if isinstance(state, Mapping) else {_WHOLE: state}
    return {
        name: part
        for name, part in parts.items()
        if all(callable(getattr(part, method, None)) for method in ("state_dict", "load_state_dict"))
    }
