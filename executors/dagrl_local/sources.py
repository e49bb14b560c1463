"""The sources of `ambient`: global random generators of Python, numpy and torch, and torch's modes.

States are JSON, so that they can stand in a saved copy and a checkpoint.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from dagrl_local.state.plain_kinds import decode_bytes, encode_bytes, random_state, set_random_state

if TYPE_CHECKING:
    import torch


class Source(Protocol):
    """One thing of a process that tasks change and depend on."""

    name: str
    #: The module that it belongs to; nothing below is called before that is loaded.
    library: str

    def seed(self, seed: int) -> None:
        """Bring it to its beginning."""
        ...

    def get(self) -> Any:
        """Its state, in JSON; None while it does not exist yet."""
        ...

    def set(self, state: Any) -> None:
        """Bring it to a state that `get` returned."""
        ...


class PythonRandom:
    """The functions of module `random`."""

    name = "python"
    library = "random"

    def seed(self, seed: int) -> None:
        """Bring it to its beginning."""
        random.seed(seed)

    def get(self) -> Any:
        """Its state."""
        return random_state(_python_generator())

    def set(self, state: Any) -> None:
        """Bring it to a state."""
        set_random_state(_python_generator(), state)


class NumpyRandom:
    """The functions of module `numpy.random`."""

    name = "numpy"
    library = "numpy.random"

    def seed(self, seed: int) -> None:
        """Bring it to its beginning."""
        _numpy_generator().seed(seed)

    def get(self) -> Any:
        """Its state."""
        from dagrl_local.state.numpy_kinds import random_state

        return random_state(_numpy_generator())

    def set(self, state: Any) -> None:
        """Bring it to a state."""
        from dagrl_local.state.numpy_kinds import set_random_state

        set_random_state(_numpy_generator(), state)


class TorchRandom:
    """Torch's generator on the CPU."""

    name = "torch"
    library = "torch"

    def seed(self, seed: int) -> None:
        """Bring it to its beginning."""
        import torch

        torch.default_generator.manual_seed(seed)

    def get(self) -> Any:
        """Its state."""
        import torch

        return _encoded(torch.get_rng_state())

    def set(self, state: Any) -> None:
        """Bring it to a state."""
        import torch

        torch.set_rng_state(_decoded(state))


class CudaRandom:
    """Torch's generator on each CUDA device; exists once CUDA is in use."""

    name = "cuda"
    library = "torch"

    def seed(self, seed: int) -> None:
        """Bring it to its beginning, now or when it comes to be."""
        if _has_cuda():
            import torch

            torch.cuda.manual_seed_all(seed)

    def get(self) -> Any:
        """Its state."""
        import torch

        if not _has_cuda() or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            return None
        return [_encoded(state) for state in torch.cuda.get_rng_state_all()]

    def set(self, state: Any) -> None:
        """Bring it to a state."""
        import torch

        torch.cuda.set_rng_state_all([_decoded(each) for each in state])


class TorchModes:
    """What torch does differently for everybody once somebody asked: dtypes, precision, determinism."""

    name = "modes"
    library = "torch"
    _DEFAULTS: Mapping[str, Any] = MappingProxyType(
        {
            "dtype": "float32",
            "device": "cpu",
            "precision": "highest",
            "deterministic": 0,
            "grad": True,
            "cudnn_benchmark": False,
            "cudnn_deterministic": False,
            "cudnn_tf32": True,
        }
    )

    def seed(self, seed: int) -> None:  # noqa: ARG002 - the defaults are the same for every seed
        """Bring it to its beginning."""
        self.set(self._DEFAULTS)

    def get(self) -> Any:
        """Its state."""
        import torch

        return {
            "dtype": str(torch.get_default_dtype()).removeprefix("torch."),
            "device": str(torch.get_default_device()),
            "precision": torch.get_float32_matmul_precision(),
            "deterministic": torch.get_deterministic_debug_mode(),
            "grad": torch.is_grad_enabled(),
            "cudnn_benchmark": torch.backends.cudnn.benchmark,
            "cudnn_deterministic": torch.backends.cudnn.deterministic,
            "cudnn_tf32": torch.backends.cudnn.allow_tf32,
        }

    def set(self, state: Any) -> None:
        """Bring it to a state; only what differs is touched."""
        import torch

        setters: dict[str, Callable[[Any], object]] = {
            "dtype": lambda value: torch.set_default_dtype(getattr(torch, value)),
            "device": lambda value: torch.set_default_device(None if value == "cpu" else value),
            "precision": torch.set_float32_matmul_precision,
            "deterministic": torch.set_deterministic_debug_mode,
            "grad": torch.set_grad_enabled,
            "cudnn_benchmark": partial(setattr, torch.backends.cudnn, "benchmark"),
            "cudnn_deterministic": partial(setattr, torch.backends.cudnn, "deterministic"),
            "cudnn_tf32": partial(setattr, torch.backends.cudnn, "allow_tf32"),
        }
        now = self.get()
        for name, value in state.items():
            if now[name] != value:
                setters[name](value)


SOURCES: tuple[Source, ...] = (PythonRandom(), NumpyRandom(), TorchRandom(), CudaRandom(), TorchModes())


def _python_generator() -> random.Random:
    generator: random.Random = random._inst  # noqa: SLF001
    return generator


def _numpy_generator() -> Any:
    # Not `np.random`: numpy binds that name only after the module has run, and this may be called right then.
    from numpy.random.mtrand import _rand

    return _rand


@cache
def _has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _encoded(state: torch.Tensor) -> str:
    from dagrl_local.state.torch_kinds import state_bytes

    return encode_bytes(state_bytes(state))


def _decoded(text: str) -> torch.Tensor:
    from dagrl_local.state.torch_kinds import state_tensor

    return state_tensor(decode_bytes(text))
