#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes logic.pt2 and logic_test.npz (x, PyTorch's y) beside itself: Python's &, | and ^ on tensors of booleans.

usage: logic.py (with zoo/ in PYTHONPATH)
"""
import os

import numpy as np
import torch
from portable import make_portable


class Logic(torch.nn.Module):
    def forward(self, x):
        return (((x > -1) & (x < 1)) | ((x > 2) ^ (x > 3))).float() * x


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    x = torch.linspace(-4, 4, 24).reshape(1, 24)
    torch.export.save(torch.export.export(Logic(), (x,)), f"{here}/logic.pt2")
    make_portable(f"{here}/logic.pt2")
    np.savez_compressed(f"{here}/logic_test.npz", x=x[None].numpy(), y=Logic()(x)[None].numpy())
