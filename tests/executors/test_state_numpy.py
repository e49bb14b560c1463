"""numpy state: arrays in any layout, with their sharing, and generators of both families."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dagrl_local.state import Scan, UnsupportedStateError, capture, digest, restore

DTYPES = ("?", "i1", "u2", ">i4", "u8", "f2", "f4", ">f8", "c16", "S3", "U2", "M8[ns]", "m8[D]", "V5")


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Arrays of random bits: views with gaps, reversed, turned, repeated, without elements or dimensions."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    count = int(np.prod(shape)) * 2
    data = draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
    data = bytes(byte & 1 for byte in data) if dtype.kind in "?U" else data
    flat = np.frombuffer(data, dtype).copy()
    match draw(st.sampled_from(["whole", "gaps", "reversed", "turned", "repeated"])):
        case "whole":
            return flat[: count // 2].reshape(shape).copy()
        case "gaps":
            return flat[::2].reshape(shape) if len(shape) < 2 else flat.reshape((*shape, 2))[..., 0]
        case "reversed":
            return flat[: count // 2][::-1].reshape(shape)
        case "turned":
            return flat[: count // 2].reshape(shape).T
        case _:
            return np.broadcast_to(flat[:1].reshape(()) if count else np.zeros((), dtype), shape)


@given(arrays(), st.one_of(st.none(), arrays()))
def test_any_array_comes_back_bit_by_bit_whatever_stood_in_its_place(saved: np.ndarray[Any, Any], live: Any) -> None:
    before = saved.tobytes(), saved.dtype, saved.shape
    restored = restore([live], capture([saved]))[0]
    assert (restored.tobytes(), restored.dtype, restored.shape) == before
    assert digest(Scan([restored])) == digest(Scan([saved]))


def test_an_array_of_the_same_form_is_filled_in_place_and_its_views_see_it() -> None:
    live, saved = np.zeros((2, 3)), np.arange(6.0).reshape(2, 3)
    row = live[1]
    assert restore({"a": live}, capture({"a": saved}))["a"] is live
    assert row.tolist() == [3, 4, 5]


def test_views_of_one_buffer_share_it_again() -> None:
    whole = np.arange(6)
    restored = restore(None, capture([whole, whole[1:4], whole[::-1]]))
    restored[0][2] = 99
    assert (restored[1][1], restored[2][3]) == (99, 99)


def test_one_live_array_does_not_become_two() -> None:
    shared = np.zeros(4)
    restored = restore([shared, shared, shared[:2]], capture([np.ones(4), np.full(4, 2.0), np.full(2, 3.0)]))
    assert [each.tolist() for each in restored] == [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3]]
    assert restored[0] is shared


def test_a_view_that_was_not_built_shares_the_live_array() -> None:
    live, saved = np.zeros(4), np.arange(4.0)
    restored = restore([live, None], capture([saved, saved[1:]]))
    assert restored[0] is live
    restored[1][0] = 9
    assert live[1] == 9


def test_an_array_and_a_tensor_may_share_memory() -> None:
    array = np.arange(4.0)
    state = [array, torch.from_numpy(array), torch.zeros(2)]
    scan = Scan(state)
    assert len(scan.regions) == 2
    tree = capture(state)
    array += 1
    restored = restore(state, tree)
    assert (restored[0].tolist(), restored[1].tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_an_array_that_cannot_be_written_to_gets_a_successor() -> None:
    live = np.zeros(3)
    live.flags.writeable = False
    assert restore([live], capture([np.ones(3)]))[0].tolist() == [1, 1, 1]


def test_objects_scalars_and_dtypes_come_back() -> None:
    state = [np.array([{"a": 1}, [2], None], dtype=object), np.float32(0.1), np.int64(-3), np.bool_(1), np.dtype(">f4")]
    restored = restore(None, capture(state))
    assert restored[0].tolist() == [{"a": 1}, [2], None]
    assert [type(each) for each in restored[1:4]] == [np.float32, np.int64, np.bool]
    assert restored[1:] == state[1:]
    live = np.array([{"a": 9}, [8], 7], dtype=object)
    inner = live[0]
    assert restore([live], capture(state[:1]))[0][0] is inner
    assert inner == {"a": 1}


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
@pytest.mark.parametrize("built", [True, False])
def test_generators_go_on_where_they_were(bits: Any, *, built: bool) -> None:
    saved = np.random.Generator(bits(3))
    saved.integers(0, 9, dtype=np.int32)
    live = np.random.Generator(bits(5)) if built else None
    restored = restore({"g": live}, capture({"g": saved}))["g"]
    assert restored is live or not built
    assert restored.normal(size=3).tolist() == saved.normal(size=3).tolist()


def test_a_legacy_generator_goes_on_where_it_was() -> None:
    saved, live = np.random.RandomState(1), np.random.RandomState(2)
    saved.normal()
    assert restore(live, capture(saved)) is live
    assert live.normal(size=3).tolist() == saved.normal(size=3).tolist()


@pytest.mark.parametrize("array", [np.zeros(2, [("a", "f4")]), np.ma.array([1]), np.zeros(2, [("a", "O")])])
def test_arrays_that_are_more_than_numbers_are_refused(array: Any) -> None:
    with pytest.raises(UnsupportedStateError, match="a: a"):
        capture({"a": array})
