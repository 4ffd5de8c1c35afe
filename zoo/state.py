#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports small models that keep state from one inference to the next, or along a sequence, in the ways people write it.

usage: state.py OUT_DIR [NAME...]   writes NAME.pt2 (as torch.export leaves it), NAME_functional.pt2 (after
                                    run_decompositions) and NAME_expected.npz: x [samples, steps, ...] and PyTorch's y
                                    [samples, steps, ...]
"""
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn

from portable import make_portable


class ShiftRegister(nn.Module):
    """A window of the last eight inputs, shifted by concatenation; a convolution over it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.zeros(1, 4, 8))
        self.conv = nn.Conv1d(4, 6, 8)

    def forward(self, x):
        self.window.copy_(torch.cat([self.window[:, :, 1:], x], 2))
        return torch.relu(self.conv(self.window)).flatten(1)


class Assigned(ShiftRegister):
    """The same with an assignment, and the output computed before it: a read sees the old contents."""

    def forward(self, x):
        y = torch.relu(self.conv(self.window)).flatten(1)
        self.window = torch.cat([self.window[:, :, 1:], x], 2)
        return y


class Dilated(nn.Module):
    """A delay line of 17 entries, of which a dilated convolution reads three."""

    def __init__(self):
        super().__init__()
        self.register_buffer("past", torch.zeros(1, 80, 17))
        self.conv = nn.Conv1d(80, 80, 3, dilation=8, groups=80)
        self.out = nn.Linear(80, 6)

    def forward(self, x):
        self.past.copy_(torch.cat([self.past[:, :, 1:], x], 2))
        return self.out(torch.relu(self.conv(self.past)).flatten(1))


class Cell(nn.Module):
    """A gated recurrent cell, written out, whose state is a buffer."""

    def __init__(self):
        super().__init__()
        self.gates = nn.Linear(5 + 6, 6)
        self.candidate = nn.Linear(5 + 6, 6)
        self.register_buffer("h", torch.zeros(1, 6))

    def forward(self, x):
        both = torch.cat([x, self.h], 1)
        z = torch.sigmoid(self.gates(both))
        self.h.copy_(z * self.h + (1 - z) * torch.tanh(self.candidate(both)))
        return self.h * 1.0


class Views(nn.Module):
    """Parts of a buffer are written through views, and the whole is read afterwards."""

    def __init__(self):
        super().__init__()
        self.register_buffer("grid", torch.zeros(1, 3, 4))
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        row = self.grid[:, 1]
        self.grid[:, 0] = row
        row.copy_(x)
        self.grid[:, 2, 1:3] = x[:, :2] * 2
        return self.fc(self.grid.flatten(1))


class Delays(nn.Module):
    """A delay line of single buffers, and two that exchange their contents."""

    def __init__(self):
        super().__init__()
        for name in ("first", "second", "left", "right"):
            self.register_buffer(name, torch.zeros(1, 4))

    def forward(self, x):
        y = x + 2 * self.first - self.second + self.left
        left = self.left * 1.0
        self.second.copy_(self.first)
        self.first.copy_(x)
        self.left.copy_(self.right + x)
        self.right.copy_(left)
        return y


class RunningMean(nn.Module):
    """A running sum, which outgrows every range, and a counter in float."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(1, 4))
        self.register_buffer("count", torch.zeros(1, 1))

    def forward(self, x):
        self.total += torch.relu(self.fc(x))
        self.count += 1
        return self.total / self.count


class Recurrent(nn.Module):
    """A recurrent layer over a sequence, its states zero; the last outputs go through a linear layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.fc = nn.LazyLinear(4)

    def forward(self, x):
        return self.fc(self.layer(x)[0][:, -1])


class Streamed(nn.Module):
    """A recurrent layer that goes on where it was: three steps per inference."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.register_buffer("h", torch.zeros(1, 1, 6))
        self.register_buffer("c", torch.zeros(1, 1, 6))

    def forward(self, x):
        y, (h, c) = self.layer(x, (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        return y


class Cells(nn.Module):
    """The single cells, one after another, each with a buffer."""

    def __init__(self):
        super().__init__()
        self.gru, self.rnn, self.lstm = nn.GRUCell(5, 6), nn.RNNCell(6, 6), nn.LSTMCell(6, 6)
        for name in ("g", "r", "h", "c"):
            self.register_buffer(name, torch.zeros(1, 6))

    def forward(self, x):
        self.g.copy_(self.gru(x, self.g))
        self.r.copy_(self.rnn(self.g, self.r))
        h, c = self.lstm(self.r, (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        return h


class Mixed(nn.Module):
    """Recurrent layers whose states come from other layers and go into some; two layers' states in one buffer."""

    def __init__(self):
        super().__init__()
        self.begin_h, self.begin_c = nn.Linear(5, 6), nn.Linear(5, 6)
        self.lstm, self.gru = nn.LSTM(5, 6, batch_first=True), nn.GRU(6, 6, num_layers=2, batch_first=True)
        self.fc = nn.Linear(6, 4)
        self.register_buffer("h", torch.zeros(2, 1, 6))

    def forward(self, x):
        first = x[:, 0]
        y, (_, c) = self.lstm(x, (torch.tanh(self.begin_h(first))[None], self.begin_c(first)[None]))
        _, h = self.gru(y, self.h)
        self.h.copy_(h)
        return torch.cat([self.fc(c[0]), torch.relu(c[0]), self.fc(h[-1])], 1)


class Svdf(nn.Module):
    """A layer of rank 2: filters over the features, a memory of what they gave, filters over time, their sums."""

    def __init__(self, inputs, units, rank, memory):
        super().__init__()
        self.units, self.rank = units, rank
        self.features = nn.Linear(inputs, units * rank, bias=False)
        self.time = nn.Parameter(torch.randn(units * rank, memory) / memory**0.5)
        self.bias = nn.Parameter(torch.randn(units) / 4)
        self.register_buffer("memory", torch.zeros(1, units * rank, memory))

    def forward(self, x):
        newest = self.features(x).unsqueeze(2)
        self.memory.copy_(torch.cat([self.memory[:, :, 1:], newest], 2))
        filtered = (self.memory * self.time).sum(2)
        return torch.relu(filtered.view(-1, self.units, self.rank).sum(2) + self.bias)


class Attention(nn.Module):
    """A layer of a transformer that takes a token per inference: keys and values of the tokens before are in buffers."""

    def __init__(self, write, width=12, heads=2, length=16):
        super().__init__()
        self.write, self.heads = write, heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, length, width // heads))
        self.register_buffer("position", torch.zeros(1, dtype=torch.long))
        self.register_buffer("seen", torch.zeros(1, 1, 1, length))

    def forward(self, x):
        q, k, v = (part.view(1, 1, self.heads, -1).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
        length = self.keys.shape[2]
        if self.write == "shift":  # the newest comes last, and the oldest goes
            self.keys.copy_(torch.cat([self.keys[:, :, 1:], k], 2))
            self.values.copy_(torch.cat([self.values[:, :, 1:], v], 2))
            self.seen.copy_(torch.cat([self.seen[..., 1:], torch.ones(1, 1, 1, 1)], 3))
            mask = self.seen > 0
        else:
            place = self.position % length
            if self.write == "index_copy":
                self.keys.index_copy_(2, place, k)
                self.values.index_copy_(2, place, v)
            else:
                self.keys[:, :, place] = k
                self.values[:, :, place] = v
            mask = (torch.arange(length) <= self.position)[None]
            self.position += 1
        y = nn.functional.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(1, 1, -1))
        return x + self.narrow(torch.relu(self.wide(self.after(x))))


class Rolled(ShiftRegister):
    """The window is rolled, and its newest entry assigned."""

    def forward(self, x):
        self.window = torch.roll(self.window, -1, 2)
        self.window[:, :, -1:] = x
        return torch.relu(self.conv(self.window)).flatten(1)


MODELS = {
    "lstm": (lambda: Streamed(nn.LSTM(5, 6, batch_first=True)), (1, 3, 5)),
    "cells": (Cells, (1, 5)),
    "shift_register": (ShiftRegister, (1, 4, 1)),
    "assigned": (Assigned, (1, 4, 1)),
    "cell": (Cell, (1, 5)),
    "views": (Views, (1, 4)),
    "delays": (Delays, (1, 4)),
    "running_mean": (RunningMean, (1, 4)),
}
# Without state between inferences: zeros begin each.
WINDOWS = {
    "lstm_window": lambda: Recurrent(nn.LSTM(5, 6, num_layers=2, bidirectional=True, batch_first=True)),
    "lstm_projected": lambda: Recurrent(nn.LSTM(5, 6, bias=False, proj_size=3, batch_first=True)),
    "gru_window": lambda: Recurrent(nn.GRU(5, 6, num_layers=2, bidirectional=True, batch_first=True)),
    "rnn_window": lambda: Recurrent(nn.RNN(5, 6, nonlinearity="relu", batch_first=True)),
}
for name, make in WINDOWS.items():
    MODELS[name] = (make, (1, 7, 5))
MODELS["recurrent_mixed"] = (Mixed, (1, 7, 5))
MODELS["svdf"] = (lambda: nn.Sequential(Svdf(6, 8, 2, 10), Svdf(8, 4, 1, 6)), (1, 6))
MODELS["rolled"] = (Rolled, (1, 4, 1))
for write in ("index_copy", "index_put", "shift"):
    MODELS["cache_" + write] = (lambda write=write: Attention(write), (1, 1, 12))
MODELS["dilated"] = (Dilated, (1, 80, 1))
SAMPLES, STEPS = 6, 24


def main(folder, names):
    torch.set_num_threads(1)
    for seed, (name, (make, shape)) in enumerate(MODELS.items()):
        if names and name not in names:
            continue
        torch.manual_seed(seed)
        model = make().eval()
        model(torch.randn(shape))  # lazy layers find out their sizes
        for value in model.buffers():
            value.zero_()
        exported = torch.export.export(model, (torch.randn(shape),))
        torch.export.save(exported, folder / f"{name}.pt2")
        make_portable(folder / f"{name}.pt2")
        torch.export.save(exported.run_decompositions(), folder / f"{name}_functional.pt2")
        make_portable(folder / f"{name}_functional.pt2")
        x = torch.randn(SAMPLES, STEPS, *shape)
        initial = {key: value.clone() for key, value in model.named_buffers()}
        with torch.no_grad():
            y = []
            for sequence in x:
                for key, value in model.named_buffers():
                    value.copy_(initial[key])
                y.append(torch.stack([model(step).clone() for step in sequence]))
        np.savez_compressed(folder / f"{name}_expected.npz", x=x.numpy(), y=torch.stack(y).numpy())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
