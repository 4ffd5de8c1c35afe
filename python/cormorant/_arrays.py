# SPDX-License-Identifier: Apache-2.0
"""Arrays and tensors on their way in and out. PyTorch is never imported here: a caller with a tensor has imported it."""
from __future__ import annotations

import sys
from typing import Any, Sequence, Tuple

import numpy as np

from . import _core

_NAMES = {
    np.dtype(np.uint8): "u8", np.dtype(np.int8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64", np.dtype(np.float16): "f16", np.dtype(np.float32): "f32", np.dtype(np.float64): "f64",
    np.dtype(np.bool_): "bool",
}
_TYPES = {name: dtype for dtype, name in _NAMES.items()}


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any) -> np.ndarray:
    """A dense little-endian array of one of the types that models have."""
    if is_tensor(value):
        value = value.detach().cpu()
        torch = sys.modules["torch"]
        value = value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
    array = np.asarray(value)
    if array.dtype.newbyteorder("=") not in _NAMES:
        raise _core.UsageError(f"an array of type {array.dtype} cannot be an input\n  convert it to float32")
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def to_core(value: Any) -> Tuple[str, Sequence[int], bytes]:
    array = to_numpy(value)
    return _NAMES[array.dtype], list(array.shape), array.tobytes()


def from_core(array: Tuple[str, Sequence[int], bytes]) -> np.ndarray:
    name, shape, data = array
    return np.frombuffer(data, dtype=_TYPES[name]).reshape(tuple(shape)).copy()


def as_tensor(array: np.ndarray) -> Any:
    return sys.modules["torch"].from_numpy(array)
