"""Torch: tensors, modules, optimizers, generators.

Everything is restored in place: a parameter stays the very object that an optimizer or a hook holds. Modules and
optimizers are walked directly and not through `state_dict`, which leaves out non-persistent buffers, gradients, modes
and ties, and costs several times as much. This module is imported only where torch is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from dagrl_local.state.kinds import MISSING, Kind
from dagrl_local.state.plain_kinds import decode_bytes, encode_bytes
from dagrl_local.state.regions import StorageRegion
from dagrl_local.state.tree import Leaf, LeafNode, Node, RestoreError, UnsupportedStateError

if TYPE_CHECKING:
    from dagrl_local.state.capture import Walk
    from dagrl_local.state.restore import Restorer

_names: dict[torch.dtype | torch.device, str] = {}


def capture_tensor(walk: Walk, tensor: torch.Tensor) -> LeafNode:
    """Note a tensor down as a leaf."""
    known = walk.known_leaf(tensor)
    return LeafNode("torch.tensor", _new_leaf(walk, tensor) if known is None else known)


def _new_leaf(walk: Walk, tensor: torch.Tensor) -> int:
    of_type, device = type(tensor), tensor.device
    if tensor.layout is not torch.strided or device.type == "meta" or tensor.is_quantized:
        raise UnsupportedStateError(f"a tensor that is not dense ({tensor.layout} on {device}) cannot be saved")
    if of_type is not torch.Tensor and of_type is not nn.Parameter and nn.parameter.is_lazy(tensor):
        raise UnsupportedStateError("a lazy parameter has no values yet; let the build function run the module once")
    index = walk.new_leaf(tensor)
    if tensor.is_neg() or tensor.is_conj():
        tensor = tensor.detach().resolve_conj().resolve_neg()
    storage = tensor.untyped_storage()
    address, nbytes = storage.data_ptr(), storage.nbytes()
    region = walk.known_region(address, nbytes)
    if region is None:
        region = walk.new_region(address, StorageRegion(storage, nbytes))
    requires_grad, grad = tensor.requires_grad, None
    if requires_grad and tensor.is_leaf and tensor.grad is not None:
        grad = capture_tensor(walk, tensor.grad).index
    walk.leaves[index] = Leaf(
        "torch",
        region,
        _names.get(tensor.dtype) or _name(tensor.dtype),
        tensor.shape,
        tensor.stride(),
        int(tensor.storage_offset()),
        _names.get(device) or _name(device),
        requires_grad,
        of_type is nn.Parameter or (of_type is not torch.Tensor and isinstance(tensor, nn.Parameter)),
        grad,
    )
    return index


def _name(value: torch.dtype | torch.device) -> str:
    return _names.setdefault(value, str(value).removeprefix("torch."))


def walk_modules(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """A module and all inside it with their dotted names, each once; as `named_modules`, at a third of its cost."""
    met, waiting = {id(root)}, [("", root)]
    while waiting:
        prefix, module = waiting.pop()
        yield prefix, module
        for name, child in reversed(module._modules.items()):  # noqa: SLF001 - there is no public door that is as fast
            if child is not None and id(child) not in met:
                met.add(id(child))
                waiting.append((f"{prefix}{name}.", child))


def _capture_module(walk: Walk, root: nn.Module) -> Node:
    parameters: dict[str, Node] = {}
    buffers: dict[str, Node] = {}
    extra: dict[str, Node] = {}
    training = []
    for prefix, module in walk_modules(root):
        for tensors, found in ((module._parameters, parameters), (module._buffers, buffers)):  # noqa: SLF001
            for name, tensor in tensors.items():
                found[prefix + name] = None if tensor is None else walk.item(prefix + name, tensor)
        if module.training:
            training.append(prefix)
        if type(module).get_extra_state is not nn.Module.get_extra_state:
            extra[prefix] = walk.item(prefix + "extra_state", module.get_extra_state())
    return {"parameters": parameters, "buffers": buffers, "training": training, "extra": extra}


def _restore_module(restorer: Restorer, payload: Node, live: object) -> nn.Module:
    if not isinstance(live, nn.Module):
        raise RestoreError(f"the saved state holds a module here, its build function made {live!r}")
    restorer.meet(live)
    modules = dict(walk_modules(live))
    for kind, of in (("parameters", _parameters), ("buffers", _buffers)):
        _same_names(kind[:-1], payload[kind], {prefix + name for prefix, each in modules.items() for name in of(each)})
        for prefix, module in modules.items():
            tensors = of(module)
            for name, old in tensors.items():
                node = payload[kind][prefix + name]
                if kind == "parameters":
                    _same_form(restorer, prefix + name, node, old)
                tensors[name] = None if node is None else restorer.item(prefix + name, node, old)
    training = set(payload["training"])
    for prefix, module in modules.items():
        module.training = prefix in training
        if prefix in payload["extra"]:
            module.set_extra_state(restorer.fresh(payload["extra"][prefix]))
    return live


def _parameters(module: nn.Module) -> dict[str, Any]:
    return module._parameters  # noqa: SLF001


def _buffers(module: nn.Module) -> dict[str, Any]:
    return module._buffers  # noqa: SLF001


def _same_names(what: str, saved: dict[str, Node], built: set[str]) -> None:
    if built != set(saved):
        name = min(built ^ set(saved))
        which = "the saved state has no" if name in built else "the build function made no"
        raise RestoreError(f"{which} {what} {name!r}")


def _same_form(restorer: Restorer, name: str, node: Node, built: torch.Tensor | None) -> None:
    saved = made = "nothing"
    if node is not None:
        leaf = restorer.tree.leaves[node["torch.tensor"]]
        saved = f"{leaf.dtype}{list(leaf.shape)}"
    if built is not None:
        made = f"{_name(built.dtype)}{list(built.shape)}"
    if saved != made:
        raise RestoreError(f"saved as {saved}, but the build function made {made}").inside(name)


def _capture_optimizer(walk: Walk, optimizer: torch.optim.Optimizer) -> Node:
    groups = []
    for index, group in enumerate(optimizer.param_groups):
        settings = {
            key: walk.item(f"param_groups.{index}.{key}", value) for key, value in group.items() if key != "params"
        }
        groups.append([[walk.item("params", each) for each in group["params"]], settings])
    state = []
    for index, (key, value) in enumerate(optimizer.state.items()):
        state.append([walk.node(key), walk.item(f"state.{index}", value)])
    return {"groups": groups, "state": state}


def _restore_optimizer(restorer: Restorer, payload: Node, live: object) -> torch.optim.Optimizer:
    if not isinstance(live, torch.optim.Optimizer):
        raise RestoreError(f"the saved state holds an optimizer here, its build function made {live!r}")
    restorer.meet(live)
    groups = payload["groups"]
    saved, built = [len(params) for params, _ in groups], [len(group["params"]) for group in live.param_groups]
    if saved != built:
        raise RestoreError(f"saved with {saved} parameters per group, but the build function made {built}")
    for (params, settings), group in zip(groups, live.param_groups, strict=True):
        group["params"] = [
            restorer.item("params", node, old) for node, old in zip(params, group["params"], strict=True)
        ]
        for key in [key for key in group if key != "params" and key not in settings]:
            del group[key]
        for key, node in settings.items():
            group[key] = restorer.item(key, node, group.get(key, MISSING))
    old_state = dict(live.state)
    live.state.clear()
    for index, (key_node, node) in enumerate(payload["state"]):
        key = restorer.value(key_node, MISSING)
        live.state[key] = restorer.item(f"state.{index}", node, old_state.get(key, MISSING))
    return live


def _is_plain_optimizer(value: object) -> bool:
    # One with a state_dict of its own knows of state that stands elsewhere.
    return isinstance(value, torch.optim.Optimizer) and type(value).state_dict is torch.optim.Optimizer.state_dict


def _capture_generator(_: Walk, generator: torch.Generator) -> Node:
    return [str(generator.device), encode_bytes(state_bytes(generator.get_state()))]


def _restore_generator(_: Restorer, payload: Node, live: object) -> torch.Generator:
    device, state = payload
    result = live if isinstance(live, torch.Generator) else torch.Generator(device)
    result.set_state(state_tensor(decode_bytes(state)))
    return result


def state_bytes(state: torch.Tensor) -> bytes:
    """A generator's state, which torch gives as a tensor of bytes."""
    return ctypes.string_at(state.data_ptr(), state.numel())


def state_tensor(data: bytes) -> torch.Tensor:
    """The tensor again."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _restore_dtype(_: Restorer, payload: str, _live: object) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, payload)
    return dtype


KINDS = (
    Kind(
        "torch.tensor",
        lambda value: isinstance(value, torch.Tensor),
        capture_tensor,
        lambda restorer, payload, live: restorer.leaf(payload, live),
        is_leaf=True,
    ),
    Kind("torch.module", lambda value: isinstance(value, nn.Module), _capture_module, _restore_module),
    Kind("torch.optimizer", _is_plain_optimizer, _capture_optimizer, _restore_optimizer),
    Kind("torch.generator", lambda value: isinstance(value, torch.Generator), _capture_generator, _restore_generator),
    Kind(
        "torch.dtype",
        lambda value: isinstance(value, torch.dtype),
        lambda _, value: _name(value),
        _restore_dtype,
        identity=False,
    ),
    Kind(
        "torch.device",
        lambda value: isinstance(value, torch.device),
        lambda _, value: str(value),
        lambda _, payload, __: torch.device(payload),
        identity=False,
    ),
    Kind(
        "torch.size",
        lambda value: isinstance(value, torch.Size),
        lambda _, value: list(value),
        lambda _, payload, __: torch.Size(payload),
        identity=False,
    ),
)
