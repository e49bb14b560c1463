"""Environments: gymnasium's chains of wrappers and its spaces, stable-baselines3's vectors of them.

An environment has no `state_dict`, so all its attributes are its state, wrapper by wrapper: physics, counters,
generators of spaces and of the environment itself, and objects of the user's own plain classes. What draws on a
screen and what is code is left alone. Wall-clock times are restored but are no part of a digest: they differ from run
to run.
"""

from __future__ import annotations

import sys
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector import VectorEnv

from dagrl_local.state.kinds import MISSING, Kind
from dagrl_local.state.object_kinds import class_name, loaded_class, unhashed_name
from dagrl_local.state.tree import Node, RestoreError, UnhashedNode

if TYPE_CHECKING:
    from dagrl_local.state.capture import Walk
    from dagrl_local.state.restore import Restorer

#: What an environment was made from, and what shows it to people.
_NO_STATE = frozenset(
    (
        *(
            "spec",
            "_cached_spec",
            "_saved_kwargs",
            "metadata",
            "render_mode",
            "screen",
            "clock",
            "surf",
            "window",
            "viewer",
            "renderer",
        ),
        *("mujoco_renderer", "results_writer", "frame_list", "render_frames", "recorded_frames", "class_attributes"),
    )
)
#: Read from the wall clock; `buf_infos` repeats such times in the last step's report, which nobody reads back.
_WALL_CLOCK = frozenset(("t_start", "episode_times", "episode_start_time", "time_queue", "buf_infos"))
_CODE = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type, partial)


def _is_environment(value: object) -> bool:
    if isinstance(value, gymnasium.Env | gymnasium.Space | VectorEnv):
        return True
    vectors = sys.modules.get("stable_baselines3.common.vec_env")
    return vectors is not None and isinstance(value, vectors.VecEnv)


def _is_plain_object(value: object) -> bool:
    """Whether an object is no more than its attributes: no memory of C code, no way of its own to be copied."""
    of_class = type(value)
    if not hasattr(value, "__dict__") or isinstance(value, _CODE):
        return False
    own = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__")
    if any(getattr(of_class, name, None) is not getattr(object, name, None) for name in own):
        return False
    try:
        object.__reduce_ex__(value, 2)
    except TypeError:
        return False
    return True


def _capture_object(walk: Walk, value: object) -> Node:
    walk.environments += 1
    attributes = {
        name: walk.item(name, each)
        for name, each in vars(value).items()
        if name not in _NO_STATE and not isinstance(each, _CODE)
    }
    walk.environments -= 1
    for name in _WALL_CLOCK & attributes.keys():
        attributes[name] = UnhashedNode(attributes[name])
    return [unhashed_name(value), attributes]


def _restore_object(restorer: Restorer, payload: Node, live: object) -> Any:
    name, nodes = payload
    if live is MISSING or live is None:
        of_class = loaded_class(name)
        live = object.__new__(of_class)
    if class_name(live) != name:
        raise RestoreError(f"the saved state holds a {name} here, its build function made a {class_name(live)}")
    restorer.meet(live)
    attributes = vars(live)
    for key, node in nodes.items():
        attributes[key] = restorer.item(key, node, attributes.get(key, MISSING))
    return live


KINDS = (Kind("env.object", _is_environment, _capture_object, _restore_object, inner=_is_plain_object),)
