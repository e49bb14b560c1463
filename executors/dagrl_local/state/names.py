"""Names for the tensors of a state as people write them: `model.layers.0.weight`, `optimizer.state.3.exp_avg`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dagrl_local.state.capture import Scan
from dagrl_local.state.tree import LeafNode, Node, UnhashedNode


def leaf_names(scan: Scan) -> list[str]:
    """One name for each leaf, all different: the path that first leads to it."""
    names: dict[int, str] = {}
    for path, index in _leaves(scan.root, ()):
        names.setdefault(index, ".".join(path) or "state")
    for index, leaf in enumerate(scan.leaves):
        if leaf.grad is not None:
            names.setdefault(leaf.grad, names[index] + ".grad")
    taken: set[str] = set()
    for index in sorted(names):
        while names[index] in taken:
            names[index] += "_"
        taken.add(names[index])
    return [names[index] for index in range(len(scan.leaves))]


def _leaves(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    match node:
        case LeafNode(index=index):
            yield path, index
        case UnhashedNode(node=inner):
            yield from _leaves(inner, path)
        case dict():
            tag, payload = next(iter(node.items()))
            for key, child in _children(tag, payload):
                yield from _leaves(child, (*path, key) if key else path)
        case _:
            pass


def _children(tag: str, payload: Node) -> Iterable[tuple[str, Node]]:
    """The nodes right inside a node; an empty key adds nothing to a name."""
    match tag, payload:
        case "torch.module", _:
            extra = [(f"{name}extra_state", node) for name, node in payload["extra"].items()]
            return [*payload["parameters"].items(), *payload["buffers"].items(), *extra]
        case "torch.optimizer", _:
            return _of_optimizer(payload)
        case "object.stateful", _:
            return [("", payload)]
        case "plain.dict", dict():
            return list(payload.items())
        case "plain.dict", [_, _, pairs]:
            return [(str(key), node) for key, node in pairs]
        case "plain.deque", [_, nodes]:
            return _numbered(nodes)
        case (("object.dataclass" | "env.object"), [_, nodes]):
            return list(nodes.items())
        case (("object.tuple" | "object.enum" | "numpy.objects"), [_, list() as nodes]):
            return _numbered(nodes)
        case (("plain.list" | "plain.tuple"), _):
            return _numbered(payload)
        case _:
            return []


def _of_optimizer(payload: Node) -> Iterator[tuple[str, Node]]:
    for number, (params, settings) in enumerate(payload["groups"]):
        yield from ((f"params.{number}.{index}", node) for index, node in enumerate(params))
        yield from ((f"param_groups.{number}.{key}", node) for key, node in settings.items())
    yield from ((f"state.{index}", node) for index, (_, node) in enumerate(payload["state"]))


def _numbered(nodes: list[Node]) -> list[tuple[str, Node]]:
    return [(str(index), node) for index, node in enumerate(nodes)]
