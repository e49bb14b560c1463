"""Plain Python state: what is captured comes back equal, in the objects that held it, with its sharing."""

from __future__ import annotations

import math
import random
import struct
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagrl_local.state import RestoreError, Scan, UnsupportedStateError, capture, digest, restore


class Colour(Enum):
    RED = 1
    GREEN = (2, 3)


@dataclass
class Episode:
    reward: float
    steps: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Point:
    x: int
    y: int


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024 - both kinds of named tuple are tuples with _fields


class Counting:
    def __init__(self, count: int = 0) -> None:
        self.inside = {"count": count}

    def state_dict(self) -> dict[str, Any]:
        return self.inside

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.inside = state


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(max_size=9), st.complex_numbers()
)
keys = st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.integers(), st.text(max_size=2)), st.floats())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(keys, inner, max_size=4),
        st.frozensets(st.integers(), max_size=4),
        st.sets(st.text(max_size=2), max_size=4),
        st.lists(inner, max_size=3).map(lambda items: deque(items, maxlen=7)),
    ),
    max_leaves=12,
)


def text(value: Any) -> str:
    """A value with the bits of its floats, and sets in an order."""
    match value:
        case float():
            return struct.pack(">d", value).hex()
        case complex():
            return text((value.real, value.imag))
        case dict():
            return f"{type(value).__name__}({[(text(key), text(each)) for key, each in value.items()]})"
        case set() | frozenset():
            return f"{type(value).__name__}({sorted(map(text, value))})"
        case list() | tuple() | deque():
            return f"{type(value).__name__}({[text(each) for each in value]}, {getattr(value, 'maxlen', '')})"
        case _:
            return repr(value)


@given(values, values)
def test_any_plain_value_comes_back_bit_by_bit_whatever_stood_in_its_place(saved: Any, live: Any) -> None:
    tree = capture(saved)
    before = text(saved)
    assert text(restore(live, tree)) == before
    assert digest(Scan(saved)) == digest(Scan(restore(None, tree)))


ordered = st.recursive(scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner)))


@given(ordered, ordered)
def test_states_have_one_digest_exactly_if_they_are_equal(first: Any, second: Any) -> None:
    assert (digest(Scan(first)) == digest(Scan(second))) == (text(first) == text(second))


def test_containers_keep_their_identity() -> None:
    state = {"list": [1, [2]], "deque": deque([1, 2], maxlen=3), "set": {1}, "map": {"a": {}}, "bytes": bytearray(b"a")}
    parts = [state, *state.values(), state["list"][1], state["map"]["a"]]  # type: ignore[index]
    tree = capture(state)
    state["list"].append(3)  # type: ignore[attr-defined]
    state["deque"].append(9)  # type: ignore[attr-defined]
    state["set"].clear()  # type: ignore[attr-defined]
    state["map"]["b"] = 1  # type: ignore[index]
    state["bytes"].extend(b"b")  # type: ignore[attr-defined]
    restored = restore(state, tree)
    assert text(restored) == text(
        {"list": [1, [2]], "deque": deque([1, 2], maxlen=3), "set": {1}, "map": {"a": {}}, "bytes": bytearray(b"a")}
    )
    after = [restored, *restored.values(), restored["list"][1], restored["map"]["a"]]
    assert [id(each) for each in after] == [id(each) for each in parts]


def test_what_was_shared_is_shared_again_and_a_state_may_hold_itself() -> None:
    inner: list[Any] = [1]
    state: dict[str, Any] = {"first": inner, "second": inner}
    state["self"] = state
    inner.append(inner)
    restored = restore(None, capture(state))
    assert restored["first"] is restored["second"] is restored["first"][1]
    assert restored["self"] is restored


def test_one_live_object_does_not_become_two_things() -> None:
    shared: list[int] = []
    live = {"a": shared, "b": shared}
    assert restore(live, capture({"a": [1], "b": [2]})) == {"a": [1], "b": [2]}
    assert live["a"] is shared


def test_mappings_of_every_kind_keep_their_kind_and_order() -> None:
    state: list[Any] = [OrderedDict(b=1, a=2), Counter("abca"), defaultdict(list, {3: [1]}), {"b": 1, "a": 2}]
    restored = restore(None, capture(state))
    assert text(restored) == text(state)
    restored[2]["new"].append(1)
    live: list[Any] = [OrderedDict(a=5), Counter("zz"), defaultdict(list), {"a": 7, "b": 8}]
    assert text(restore(live, capture(state))) == text(state)
    assert list(live[3]) == ["b", "a"]


def test_objects_with_state_dict_are_given_values_of_their_own() -> None:
    live, saved = Counting(), Counting(3)
    tree = capture({"counter": saved})
    assert restore({"counter": live}, tree)["counter"] is live
    live.inside["count"] += 1
    assert saved.inside == {"count": 3}
    with pytest.raises(RestoreError, match=r"counter: the saved state needs an object with load_state_dict here"):
        restore({"counter": 5}, tree)


def test_dataclasses_enums_and_named_tuples_come_back_as_such() -> None:
    state = [Episode(1.5, [1]), Point(1, 2), Colour.GREEN, Pair(1, [2])]
    live = Episode(0.0)
    restored = restore([live], capture(state))
    assert restored == state
    assert restored[0] is live
    assert type(restored[3]) is Pair


def test_a_class_that_is_not_loaded_is_not_imported() -> None:
    tree = capture([Point(1, 2)])
    tree.root["plain.list"][0]["object.dataclass"][0] = "antigravity:Fly"
    with pytest.raises(RestoreError, match=r"0: the saved state holds a antigravity:Fly, which is not loaded"):
        restore(None, tree)


def test_generators_go_on_where_they_were() -> None:
    generator = random.Random(3)
    generator.gauss(0, 1)
    tree = capture({"generator": generator})
    expected = [generator.gauss(0, 1) for _ in range(3)]
    assert restore({"generator": generator}, tree)["generator"] is generator
    assert [generator.gauss(0, 1) for _ in range(3)] == expected


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        (
            {"a": [0, {"b": object()}]},
            r"a.1.b: a object cannot be saved; give it state_dict\(\) and load_state_dict\(\)",
        ),
        ({"a": test_generators_go_on_where_they_were}, "a: a function cannot be saved"),
        ({"random": random.SystemRandom()}, "random: a SystemRandom has no state"),
        ({"a": defaultdict(lambda: 1)}, "a: a defaultdict of <function"),
        ({Colour: 1}, "a enum.EnumType cannot be saved"),
    ],
)
def test_what_cannot_be_captured_is_named_with_its_place(state: Any, fault: str) -> None:
    with pytest.raises(UnsupportedStateError, match=fault):
        capture(state)


def test_a_digest_tells_what_equality_does_not() -> None:
    payload = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]
    digests = {digest(Scan(value)) for value in (0.0, -0.0, 0, False, "0", None, math.nan, payload, [0], (0,), {0})}
    assert len(digests) == 11
