#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the odd little models that the reader's tests need, one .pt2 per peculiarity, a few KB each.

usage, in this folder:  python3 make.py [--executorch]         needs PyTorch 2.9 or later

With --executorch, the archive of several methods is also written as a program of ExecuTorch (tests/executorch/methods.pte).

Weights are small integers in order of storage (0, 1, 2, ...), so that a test can say what an element must be without
running PyTorch. Stack traces are cut to relative paths before saving: the files must not tell where they were made.
"""
import copy
import inspect
import math
import pathlib
import re
import sys

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export.pt2_archive._package import package_pt2


def count_up(module):
    """Gives every parameter the values 0, 1, 2, ... in the order its storage has them."""
    for p in module.parameters():
        storage = torch.tensor([], dtype=p.dtype).set_(p.data.untyped_storage())
        storage.copy_(torch.arange(storage.numel(), dtype=p.dtype))
    return module.eval()


def export(module, args, functional=False, **options):
    with torch.no_grad():
        program = torch.export.export(module, args, **options)
    if functional:
        program = program.run_decompositions({})
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    for node in (node for graph in graphs for node in graph.nodes):
        if trace := node.meta.get("stack_trace"):
            trace = re.sub(r'"[^"]*/(site-packages/[^"]*)"', r'"\1"', trace)
            node.meta["stack_trace"] = re.sub(r'"(?!site-packages)[^"]*/([^"/]*)"', r'"\1"', trace)
    return program


def save(name, *args, **options):
    torch.export.save(export(*args, **options), name + ".pt2")


def save_methods(name, **methods):
    """Several models in one archive, and for each 32 inputs with PyTorch's results, METHOD.INPUT and METHOD.y."""
    package_pt2(name + ".pt2", exported_programs={m: export(module, args) for m, (module, args) in methods.items()})
    arrays = {}
    for method, (module, args) in methods.items():
        (argument,) = inspect.signature(module.forward).parameters
        x = torch.rand(32, *args[0].shape[1:]) * 2 - 1
        arrays[f"{method}.{argument}"] = x.numpy()
        with torch.no_grad():
            arrays[f"{method}.y"] = torch.cat([copy.deepcopy(module)(sample[None]) for sample in x]).numpy()
    numpy.savez_compressed(name + ".npz", **arrays)
    if "--executorch" in sys.argv:
        from executorch.exir import to_edge
        program = to_edge({m: export(module, args) for m, (module, args) in methods.items()}).to_executorch()
        pathlib.Path(name + ".pte").write_bytes(program.buffer)


class ChannelsLast(nn.Module):
    """Weights in channels-last memory: sizes (2, 3, 2, 2), strides (12, 1, 6, 3)."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 2)

    def forward(self, x):
        return self.conv(x)


class Tied(nn.Module):
    """Two layers with one weight, and two buffers that are views into one storage, one of them transposed."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(3, 3)
        self.decode = nn.Linear(3, 3)
        self.decode.weight = self.encode.weight
        table = torch.arange(12, dtype=torch.float32)
        self.register_buffer("whole", table)
        self.register_buffer("tail", table[6:].view(3, 2).t())

    def forward(self, x):
        return self.decode(self.encode(x)) + self.tail.sum() + self.whole[0]


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 3)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.act(self.conv(x))
        return F.hardtanh_(y, 0, 6)


class Stateful(nn.Module):
    """A stream: one persistent buffer that forward changes, one constant buffer that is not in the state dict."""

    def __init__(self):
        super().__init__()
        self.register_buffer("history", torch.zeros(1, 4))
        self.register_buffer("scale", torch.full((1,), 0.5), persistent=False)

    def forward(self, x):
        self.history.copy_(torch.cat([self.history[:, 1:], x], 1))
        return self.history.sum(1, keepdim=True) * self.scale


class Arguments(nn.Module):
    """Operators with several outputs, lists, booleans, infinities, types, strings and a tensor made in forward."""

    def forward(self, x):
        a, b, c = torch.split(x, [1, 2, 3], dim=1)
        values, _ = torch.max(c, dim=1, keepdim=True)
        d = b[:, torch.tensor([1, 0])]
        e = F.gelu(torch.clamp(d, -float("inf"), 6), approximate="tanh")
        f = F.interpolate(e.view(1, 1, 1, 2), scale_factor=[2.0, 3.0], mode="nearest")
        return torch.cat([a, values, e], 1).to(torch.int32), f.clone(memory_format=torch.channels_last)


class Options(nn.Module):
    """Inputs that are not tensors, and one output that is not."""

    def forward(self, x, times, mode=None):
        return x * times, times, None


class Twice(nn.Module):
    """One module called twice, and a call two modules deep."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))

    def forward(self, x):
        return self.blocks(self.blocks(x))


class Cond(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))


class Integers(nn.Module):
    """Buffers of every element type, which forward does not even use."""

    def __init__(self):
        super().__init__()
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float64, torch.bfloat16):
            self.register_buffer(str(dtype).replace("torch.", "a_"), torch.arange(3).to(dtype))
        self.register_buffer("a_bool", torch.tensor([True, False, True]))

    def forward(self, x):
        return x + 1


class Encode(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x):
        return torch.relu(self.encoder(x))


class Decode(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, code):
        return self.decoder(code)


class Follow(nn.Module):
    """Both layers, and a buffer that follows the input."""

    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.register_buffer("mean", torch.zeros(1, 16))

    def forward(self, x):
        self.mean.copy_(0.75 * self.mean + 0.25 * x)
        return self.decoder(torch.relu(self.encoder(x - self.mean))) + self.mean


class Sizes(nn.Module):
    """Two inputs whose batches are unrelated, and real numbers computed from a size."""

    def forward(self, x, y):
        return x / math.sqrt(x.shape[1]) + x.shape[1] / 4, y * 2


class Selected(nn.Module):
    """What masks that are known select: a buffer's, one that forward computes, broadcast ones, places, repetitions."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.tensor([True, False, True, True]))

    def forward(self, x):
        upper = torch.ones(2, 2).triu(1).bool()
        return (x[:, self.mask], x[:, 1:3][~upper], x.masked_select(self.mask), self.mask.nonzero() + x[:1, :1].long(),
                torch.repeat_interleave(x, torch.tensor([1, 0, 2, 2]), dim=1))


class Threshold(nn.Module):
    def forward(self, x):
        return x[x > 0]


class SelectedByData(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ones", torch.ones(4))
        self.positive = Threshold()

    def forward(self, x):
        return self.positive(x - self.ones)


if __name__ == "__main__":
    last = count_up(ChannelsLast().to(memory_format=torch.channels_last))
    save("channels_last", last, (torch.zeros(1, 3, 3, 3).to(memory_format=torch.channels_last),))
    save("tied", count_up(Tied()), (torch.zeros(1, 3),))
    save("inplace", count_up(InPlace()), (torch.zeros(1, 1, 5),))
    save("stateful", Stateful().eval(), (torch.zeros(1, 1),))
    save("stateful_functional", Stateful().eval(), (torch.zeros(1, 1),), functional=True)
    save("arguments", Arguments().eval(), (torch.zeros(1, 6),))
    save("options", Options().eval(), (torch.zeros(2), 3, "fast"))
    save("twice", count_up(Twice()), (torch.zeros(1, 2),))
    save("cond", Cond().eval(), (torch.zeros(2),))
    save("integers", Integers().eval(), (torch.zeros(3),))
    save("dynamic", count_up(nn.Linear(2, 2)), (torch.zeros(3, 2),), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=8)},))
    save("sizes", Sizes().eval(), (torch.zeros(3, 5), torch.zeros(4, 2)), strict=True,
         dynamic_shapes=({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC}))
    save("selected", Selected().eval(), (torch.zeros(2, 4),))
    save("selected_by_data", SelectedByData().eval(), (torch.zeros(2, 4),))
    torch.manual_seed(1)
    encoder, decoder = nn.Linear(16, 4), nn.Linear(4, 16)
    save_methods("methods", encode=(Encode(encoder).eval(), (torch.zeros(1, 16),)),
                 decode=(Decode(decoder).eval(), (torch.zeros(1, 4),)),
                 follow=(Follow(encoder, decoder).eval(), (torch.zeros(1, 16),)))
    torch.save(nn.Linear(1, 1).state_dict(), "torch_save.pt")
    torch.save({"a": 1}, "legacy_torch_save.pt", _use_new_zipfile_serialization=False)
