# SPDX-License-Identifier: Apache-2.0
"""Representative inputs, from arrays, mappings or data loaders."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._arrays import is_tensor, to_numpy

PathLike = Union[str, "os.PathLike[str]"]


def gather(loader: Any, samples: Optional[int] = None, names: Optional[Sequence[str]] = None) -> Dict[str, np.ndarray]:
    """Arrays by input name, samples along the first axis, of an array, a mapping, or an iterable of batches.

    A batch is an array (the only input), a mapping by input name, or a tuple or list as data loaders give them: the
    inputs in order, of which only as many are taken as there are `names` (one without names, so that labels after it
    are left out).
    """
    if isinstance(loader, np.ndarray) or is_tensor(loader):
        whole = to_numpy(loader)
        return {(names or ["x"])[0]: whole[:samples]}
    if isinstance(loader, Mapping):
        return {str(name): to_numpy(array)[:samples] for name, array in loader.items()}
    parts: Dict[str, list] = {}
    count = 0
    for batch in _iterate(loader):
        arrays = _batch(batch, names)
        sizes = {name: array.shape[0] if array.ndim else 0 for name, array in arrays.items()}
        if len(set(sizes.values())) != 1 or 0 in sizes.values():
            raise _core.InputError(f"a batch has arrays of {sizes} samples\n  the first axis of each counts samples")
        for name, array in arrays.items():
            parts.setdefault(name, []).append(array)
        count += next(iter(sizes.values()))
        if samples is not None and count >= samples:
            break
    if not parts:
        raise _core.InputError("there are no samples\n  pass an array, a mapping, or an iterable of batches")
    return {name: np.concatenate(arrays)[:samples] for name, arrays in parts.items()}


def save_calibration(
    loader: Any, path: PathLike, samples: Optional[int] = 256, names: Optional[Sequence[str]] = None
) -> Dict[str, np.ndarray]:
    """Writes representative inputs to an .npz that `cormorant compile --calibrate` takes, and returns them.

    `loader` is an array or tensor, a mapping by input name, or an iterable of batches such as a torch DataLoader, of
    which `samples` samples are taken (None: all). If batches are tuples, the first entry is the input, or as many
    as there are `names`.
    """
    arrays = gather(loader, samples, names)
    np.savez(os.fspath(path), **arrays)
    return arrays


def _iterate(loader: Any) -> Iterable[Any]:
    try:
        return iter(loader)
    except TypeError:
        raise _core.UsageError(
            f"calibration data cannot be a {type(loader).__name__}\n"
            "  give a path, an array, a mapping by input name, or an iterable of batches") from None


def _batch(batch: Any, names: Optional[Sequence[str]]) -> Dict[str, np.ndarray]:
    if isinstance(batch, Mapping):
        return {str(name): to_numpy(array) for name, array in batch.items()}
    if isinstance(batch, (tuple, list)):
        wanted = list(names) if names else ["x"]
        if len(batch) < len(wanted):
            raise _core.InputError(f"a batch has {len(batch)} entries, but there are {len(wanted)} inputs: {', '.join(wanted)}")
        return {name: to_numpy(array) for name, array in zip(wanted, batch)}
    return {(names or ["x"])[0]: to_numpy(batch)}
