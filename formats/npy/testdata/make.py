#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files that NumPy itself must have written for the reader's tests.

usage, in this folder:  python3 make.py
"""
import numpy as np

grid = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
np.save("fortran.npy", np.asfortranarray(grid))
np.save("objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
with open("version2.npy", "wb") as file:
    np.lib.format.write_array(file, grid, version=(2, 0))
with open("version3.npy", "wb") as file:
    np.lib.format.write_array(file, grid, version=(3, 0))

types = [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64]
arrays = {np.dtype(t).name: np.array([0, 1, 2]).astype(t) for t in types}
np.savez("types.npz", **arrays)
np.savez_compressed("deflated.npz", zeros=np.zeros((100, 10), np.float32), answer=np.int32(42), empty=np.zeros((0, 3)))
