#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small.pt2 beside itself: a network so small that computing it by rows would need more memory than by layers.

usage: small.py (with zoo/ in PYTHONPATH)
"""
import os

import torch
import torch.nn as nn
from portable import make_portable

if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU(),
                          nn.Conv2d(16, 32, 1), nn.ReLU(), nn.Flatten(), nn.Linear(2048, 1))
    file = f"{os.path.dirname(os.path.abspath(__file__))}/small.pt2"
    torch.export.save(torch.export.export(model.eval(), (torch.zeros(1, 1, 8, 8),)), file)
    make_portable(file)
