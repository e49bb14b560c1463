"""Torch state: every dtype, layout and tie comes back bit by bit, in place, also in a state that was built anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from dagrl_local.state import RestoreError, Scan, UnsupportedStateError, capture, digest, restore

DTYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.bool),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
)


def bits(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).tolist())


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Tensors of random bits in random layouts: NaNs with payloads, views with gaps, no elements, no dimensions."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    count = int(torch.tensor(shape).prod()) * 4 + 8
    size = torch.empty((), dtype=dtype).element_size()
    data = draw(st.binary(min_size=count * size, max_size=count * size))
    if dtype is torch.bool:
        data = bytes(byte & 1 for byte in data)
    flat = torch.frombuffer(bytearray(data), dtype=dtype).clone()
    match draw(st.sampled_from(["whole", "offset", "gaps", "turned", "expanded"])):
        case "whole":
            return flat[: max(count - 8, 0) // 4].reshape(shape).clone()
        case "offset":
            return flat[3 : 3 + (count - 8) // 4].view(shape)
        case "gaps":
            return flat[: 2 * ((count - 8) // 4) : 2].as_strided(shape, _strides(shape, 2))
        case "turned":
            return flat[: (count - 8) // 4].view(shape).permute(tuple(range(len(shape) - 1, -1, -1)))
        case _:
            return flat[0].expand(shape)


def _strides(shape: list[int], step: int) -> list[int]:
    strides: list[int] = []
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


@settings(max_examples=300)
@given(tensors(), st.one_of(st.none(), tensors()))
def test_any_tensor_comes_back_bit_by_bit_whatever_stood_in_its_place(saved: torch.Tensor, live: Any) -> None:
    before = bits(saved), saved.dtype, saved.shape, saved.stride()
    whole = digest(Scan([saved]))
    restored = restore([live], capture([saved]))[0]
    assert (bits(restored), restored.dtype, restored.shape, restored.stride()) == before
    assert restored is live or live is None or live.is_inference()
    assert digest(Scan([restored])) == whole


@given(st.lists(tensors(), min_size=1, max_size=4), st.data())
def test_tensors_that_share_memory_share_it_again(found: list[torch.Tensor], data: Any) -> None:
    index = data.draw(st.integers(0, len(found) - 1))
    alias = found[index].view(found[index].shape)
    state = {"tensors": found, "alias": alias, "same": found[index]}
    restored = restore(None, capture(state))
    twin = restored["tensors"][index]
    assert restored["same"] is twin
    assert restored["alias"] is not twin
    assert restored["alias"].untyped_storage().data_ptr() == twin.untyped_storage().data_ptr()


def test_a_capture_shares_nothing_with_the_live_state() -> None:
    tensor = torch.zeros(3)
    tree = capture({"t": tensor})
    tensor.fill_(7)
    assert restore({"t": tensor}, tree)["t"].tolist() == [0, 0, 0]


def test_one_live_tensor_does_not_become_two() -> None:
    shared = torch.zeros(2)
    restored = restore(
        [shared, shared, shared[:1]], capture([torch.ones(2), torch.full((2,), 2.0), torch.full((1,), 3.0)])
    )
    assert [each.tolist() for each in restored] == [[1, 1], [2, 2], [3]]
    assert restored[0] is shared


def model(*, tied: bool = True) -> Any:
    made: Any = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 4))
    made.register_buffer("cache", torch.zeros(2), persistent=False)
    made.register_buffer("later", None)
    if tied:
        made[3].weight = made[0].weight
    return made


OPTIMIZERS: list[Callable[[Any], torch.optim.Optimizer]] = [
    lambda parameters: torch.optim.AdamW(parameters, lr=0.1, fused=True),
    lambda parameters: torch.optim.AdamW(parameters, lr=0.1, amsgrad=True),
    lambda parameters: torch.optim.SGD(parameters, lr=torch.tensor(0.1), momentum=0.9),
    lambda parameters: torch.optim.LBFGS(parameters, lr=0.1, history_size=3),
    lambda parameters: torch.optim.Adafactor(parameters, lr=0.1),
]


class Trained:
    """A state, and one training step on it."""

    def __init__(self, optimizer: Callable[[Any], torch.optim.Optimizer]) -> None:
        self.model = model()
        optimizing = optimizer(self.model.parameters())
        self.state: dict[str, Any] = {
            "model": self.model,
            "optimizer": optimizing,
            "schedule": torch.optim.lr_scheduler.CosineAnnealingLR(optimizing, 5),
            "generator": torch.Generator(),
        }

    def train(self) -> None:
        batch = torch.randn(8, 4, generator=self.state["generator"])

        def closure() -> Any:
            self.state["optimizer"].zero_grad()
            torch.manual_seed(1)
            loss = (self.model(batch) ** 2).mean()
            loss.backward()
            return loss

        self.state["optimizer"].step(closure)
        self.state["schedule"].step()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("steps", [0, 2])
def test_training_goes_on_with_the_same_bits_in_a_state_built_anew(
    optimizer: Callable[[Any], torch.optim.Optimizer], steps: int
) -> None:
    torch.manual_seed(0)
    first, second = Trained(optimizer), Trained(optimizer)
    for _ in range(steps):
        first.train()
    objects = [id(each) for each in second.model.parameters()]
    assert digest(Scan(first.state)) != digest(Scan(second.state))
    restore(second.state, capture(first.state))
    assert [id(each) for each in second.model.parameters()] == objects
    assert second.model[3].weight is second.model[0].weight
    for _ in range(2):
        first.train()
        second.train()
        assert digest(Scan(first.state)) == digest(Scan(second.state))


def test_an_optimizer_that_has_stepped_forgets_it_when_the_saved_one_had_not() -> None:
    fresh, used = Trained(OPTIMIZERS[0]), Trained(OPTIMIZERS[0])
    used.train()
    restore(used.state, capture(fresh.state))
    assert not used.state["optimizer"].state
    assert digest(Scan(used.state)) == digest(Scan(fresh.state))


def test_a_module_comes_back_with_gradients_modes_frozen_parts_and_all_buffers() -> None:
    saved, live = model(), model()
    saved(torch.randn(4, 4)).sum().backward()
    saved[1].eval()
    saved[0].weight.requires_grad_(requires_grad=False)
    saved.cache.fill_(3)
    saved.later = torch.ones(2)
    saved[0].bias.grad = None
    live[0].bias.grad = torch.ones(4)
    restore(live, capture(saved))
    assert digest(Scan(live)) == digest(Scan(saved))
    assert (live[0].bias.grad, live[0].weight.requires_grad) == (None, False)
    assert [each.training for each in live] == [True, False, True, True]
    assert live.later.tolist() == [1, 1]


def test_ties_that_came_or_went_are_as_they_were() -> None:
    tied, apart = model(tied=True), model(tied=False)
    apart[3].weight.data = apart[3].weight.data.clone()
    live, saved, loose = (cast("Any", nn.ModuleDict({name: nn.Linear(2, 2) for name in "ab"})) for _ in range(3))
    saved["b"].weight.data = saved["a"].weight.data
    restore(live, capture(saved))
    assert live["a"].weight.data_ptr() == live["b"].weight.data_ptr()
    restore(live, capture(loose))
    assert live["a"].weight.data_ptr() != live["b"].weight.data_ptr()
    assert digest(Scan(live)) == digest(Scan(loose))
    assert digest(Scan(tied)) != digest(Scan(apart))


@pytest.mark.parametrize(
    ("live", "fault"),
    [
        (nn.Linear(3, 2), r"m.weight: saved as float32\[2, 2\], but the build function made float32\[2, 3\]"),
        (nn.Linear(2, 2).double(), r"saved as float32\[2, 2\], but the build function made float64\[2, 2\]"),
        (nn.Linear(2, 2, bias=False), r"m.bias: saved as float32\[2\], but the build function made nothing"),
        (nn.Bilinear(2, 2, 2), "saved as"),
        (nn.Embedding(2, 2), "m: the build function made no parameter 'bias'"),
        (None, "the saved state holds a module here, its build function made None"),
    ],
)
def test_a_module_of_another_shape_is_refused_by_name(live: Any, fault: str) -> None:
    with pytest.raises(RestoreError, match=fault):
        restore({"m": live}, capture({"m": nn.Linear(2, 2)}))


def test_an_optimizer_of_other_parameters_is_refused() -> None:
    saved, live = (torch.optim.SGD(nn.Linear(2, 2, bias=bias).parameters()) for bias in (True, False))
    with pytest.raises(
        RestoreError, match=r"o: saved with \[2\] parameters per group, but the build function made \[1\]"
    ):
        restore({"o": live}, capture({"o": saved}))


@pytest.mark.parametrize(
    "tensor",
    [torch.eye(2).to_sparse(), torch.empty(2, device="meta"), nn.LazyLinear(2).weight],
)
def test_tensors_without_plain_memory_are_refused(tensor: torch.Tensor) -> None:
    with pytest.raises(UnsupportedStateError, match=r"a.0: a (tensor that is not dense|lazy parameter)"):
        capture({"a": [tensor]})


def test_views_that_are_computed_when_read_are_captured_by_value() -> None:
    tensor = torch.randn(3, dtype=torch.complex64)
    state = [tensor.conj(), tensor.conj().imag]
    restored = restore(None, capture(state))
    assert [bits(each.resolve_conj().resolve_neg()) for each in state] == [bits(each) for each in restored]


def test_dtypes_devices_and_sizes_are_values_too() -> None:
    state = {"dtype": torch.bfloat16, "device": torch.device("cpu"), "size": torch.Size([2, 3])}
    assert restore(None, capture(state)) == state
