#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports MLPerf Tiny's other three architectures with seeded weights: for speed and memory, not for accuracy.

usage: untrained.py OUT_DIR    writes NAME.pt2, NAME_calibration.npz (x), NAME_expected.npz (x and PyTorch's output y)
"""
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from models import Autoencoder, KeywordSpotter, PersonDetector
from portable import make_portable


def smooth(count, *shape):
    """Random inputs that resemble images: neighbours are alike, and values are exact in few bits."""
    x = torch.randn(count, *shape)
    if len(shape) == 3:
        x = F.avg_pool2d(x, 3, 1, 1) * 2
    return torch.round(x * 16) / 16


def main(out):
    models = (("kws", KeywordSpotter, (1, 49, 10)), ("vww", PersonDetector, (3, 96, 96)), ("ad", Autoencoder, (640,)))
    for name, make, shape in models:
        torch.manual_seed(1)
        model = make()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.kaiming_normal_(parameter)
        model.train()
        with torch.no_grad():
            for _ in range(60):
                model(smooth(32, *shape))  # gives the batch norms real statistics
        model.eval()
        x = smooth(24, *shape)
        with torch.no_grad():
            y = torch.cat([model(x[i:i + 1]) for i in range(8)])
        torch.export.save(torch.export.export(model, (x[:1].clone(),)), f"{out}/{name}.pt2")
        make_portable(f"{out}/{name}.pt2")
        np.savez_compressed(f"{out}/{name}_calibration.npz", x=x[8:].numpy())
        np.savez_compressed(f"{out}/{name}_expected.npz", x=x[:8].numpy(), y=y.numpy())
        print(name, tuple(y.shape), f"{y.min():.4f} .. {y.max():.4f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
