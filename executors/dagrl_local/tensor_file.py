"""Tensors and arrays in one safetensors file, bit by bit, each read back as what it was.

The only door to safetensors. Both libraries' values may stand in one file; a process that has no torch reads and writes
arrays all the same. What the format has no dtype for is stored as raw bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import torch

_ARRAY_DTYPES = frozenset(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
_TORCH_DTYPES = frozenset(
    ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
)


class Entry(NamedTuple):
    """How to make one value of a file what it was."""

    name: str
    #: `torch` or `numpy`.
    library: str
    #: Dtype and shape of a value that is stored as raw bytes.
    dtype: str | None = None
    shape: list[int] | None = None


def is_tensor(value: object) -> bool:
    """Whether a value is a torch tensor; asks torch only if it is loaded."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: object) -> bool:
    """Whether a value is a numpy array that holds no Python objects."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and not value.dtype.hasobject


def write_tensors(path: Path, values: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Write values to a file, those that `entry_of` accepts."""
    if any(is_tensor(value) for value in values.values()):
        from safetensors.torch import save_file

        seen: set[int] = set()
        save_file({name: _as_tensor(value, seen) for name, value in values.items()}, path, dict(metadata))
    else:
        from safetensors.numpy import save_file as save_arrays

        save_arrays({name: _as_array(value) for name, value in values.items()}, path, dict(metadata))


def entry_of(name: str, value: Any) -> Entry:
    """What must be kept beside the file to read a value back. Raises TypeError naming what cannot be stored."""
    if is_tensor(value):
        if str(value.layout) != "torch.strided":
            raise TypeError(f"a tensor that is not dense ({value.layout})")
        dtype = str(value.dtype).removeprefix("torch.")
        return Entry(name, "torch") if dtype in _TORCH_DTYPES else Entry(name, "torch", dtype, list(value.shape))
    if value.dtype.names is not None:
        raise TypeError(f"a structured array ({value.dtype}); use one array per field")
    return Entry(name, "numpy") if _is_native(value) else Entry(name, "numpy", value.dtype.str, list(value.shape))


class TensorFile:
    """An open file of tensors."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path = path
        self._stack = stack
        self._readers: dict[str, Any] = {}

    def metadata(self) -> Mapping[str, str]:
        """What was written beside the tensors."""
        return dict(self._reader("numpy").metadata() or {})

    def names(self) -> list[str]:
        """The names of all values."""
        return list(self._reader("numpy").keys())

    def read(self, entry: Entry) -> Any:
        """One value, on the CPU, as it was written."""
        value = self._reader("pt" if entry.library == "torch" else "numpy").get_tensor(entry.name)
        if entry.dtype is None:
            return value
        if entry.library == "torch":
            import torch

            return value.view(getattr(torch, entry.dtype)).reshape(entry.shape)
        return value.view(entry.dtype).reshape(entry.shape)

    def _reader(self, framework: str) -> Any:
        if framework not in self._readers:
            from safetensors import safe_open

            self._readers[framework] = self._stack.enter_context(safe_open(self._path, framework=framework))
        return self._readers[framework]


@contextmanager
def open_tensors(path: Path) -> Iterator[TensorFile]:
    """Open a file that `write_tensors` wrote."""
    with ExitStack() as stack:
        yield TensorFile(path, stack)


def _as_tensor(value: Any, seen: set[int]) -> torch.Tensor:
    import torch

    if not is_tensor(value):
        array = _as_array(value)
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    tensor: torch.Tensor = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
    if str(tensor.dtype).removeprefix("torch.") not in _TORCH_DTYPES:
        tensor = tensor.reshape(-1).view(torch.uint8)
    storage = tensor.untyped_storage()
    # The library refuses tensors that share memory.
    if storage.data_ptr() in seen or storage.nbytes() != tensor.numel() * tensor.element_size():
        tensor = tensor.clone(memory_format=torch.contiguous_format)
    seen.add(tensor.untyped_storage().data_ptr())
    return tensor


def _as_array(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    # `ascontiguousarray` would give an array without dimensions one.
    array = value if value.flags.c_contiguous else value.copy(order="C")
    if _is_native(array):
        return np.asarray(array)
    return np.frombuffer(array.tobytes(), np.uint8)


def _is_native(value: np.ndarray[Any, Any]) -> bool:
    return value.dtype.isnative and value.dtype.str[1:] in _ARRAY_DTYPES
