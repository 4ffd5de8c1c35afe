#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small networks of the kinds that quantization is hard on; docs/accuracy.md has what it costs them.

  detector   convolutions with PReLU, three heads: is there a digit, its box, its centre and size as read by a linear layer
  regressor  where a digit was put, how large and how slanted: ReLU, no batch norm
  denoiser   an image without its noise: leaky ReLU, convolutions and a transposed one
  residual   a classifier of nine residual blocks with batch norm
  mobile     a classifier of inverted bottlenecks: depthwise convolutions, ReLU6, linear ends
  swish      the same with hard swish and squeeze-and-excitation

usage: trained.py OUT_DIR [NAME…]      needs the images beside this script; a minute or two each on two cores

Writes NAME.pt2, NAME_calibration.npz (x) and NAME_test.npz (x), made of other images; of the classifiers also
NAME_labelled.npz (x, y), made of those others again.
"""
import functools
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from portable import make_portable

HERE = os.path.dirname(os.path.abspath(__file__))


@functools.cache
def images(name, split):
    data = np.load(f"{HERE}/{name}_test.npz")
    x, y = torch.tensor(data["x"][:, :1]).float(), torch.tensor(data["y"]).long().flatten()
    return (x[:800], y[:800]) if split == "train" else (x[800:], y[800:])


def placed(split, count, size, generator):
    """Digits, shrunk, slanted and put somewhere on a noisy ground; half of the images have none."""
    x, _ = images("digits", split)
    pick = torch.randint(len(x), (count,), generator=generator)
    u = lambda low, high: low + (high - low) * torch.rand(count, generator=generator)
    scale, slant, cx, cy = u(0.45, 0.9), u(-0.5, 0.5), u(-0.3, 0.3), u(-0.3, 0.3)
    zero = torch.zeros(count)
    inverse = torch.stack([torch.stack([1 / scale, slant / scale, -(cx + slant * cy) / scale], 1),
                           torch.stack([zero, 1 / scale, -cy / scale], 1)], 1)
    grid = F.affine_grid(inverse, (count, 1, size, size), align_corners=False)
    digit = F.grid_sample(x[pick], grid, align_corners=False)
    ground = u(0, 0.4)[:, None, None, None] + 0.15 * torch.rand(count, 1, size, size, generator=generator)
    there = (torch.rand(count, generator=generator) < 0.6).float()
    image = torch.clamp(ground + digit * there[:, None, None, None], 0, 1)
    return image, there, torch.stack([cx, cy, scale, slant], 1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        plan = [(1, 16, 1), (16, 32, 2), (32, 32, 1), (32, 48, 2), (48, 64, 1)]
        self.body = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 3, s, 1), nn.PReLU(b)) for a, b, s in plan])
        self.neck = nn.Sequential(nn.Flatten(), nn.Linear(64 * 36, 64), nn.PReLU(64))
        self.there, self.box, self.slant = nn.Linear(64, 2), nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, x):
        x = self.neck(self.body(x - 0.5))
        return torch.softmax(self.there(x), -1), self.box(x), self.slant(x)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        plan = [(1, 16, 1), (16, 24, 2), (24, 32, 2), (32, 48, 2)]
        self.body = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 3, s, 1), nn.ReLU()) for a, b, s in plan])
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(48 * 9, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, x):
        return self.head(self.body(x))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda a, b, s=1: nn.Sequential(nn.Conv2d(a, b, 3, s, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.1))
        self.first, self.down, self.deep = conv(1, 16), conv(16, 32, 2), nn.Sequential(conv(32, 32), conv(32, 32))
        self.up = nn.ConvTranspose2d(32, 16, 2, 2)
        self.last = nn.Sequential(conv(32, 16), nn.Conv2d(16, 1, 3, 1, 1))

    def forward(self, x):
        a = self.first(x)
        b = self.up(self.deep(self.down(a)))
        return x - self.last(torch.cat([a, b], 1))


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout))
        self.skip = nn.Conv2d(cin, cout, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.skip(x) + self.b(self.a(x)))


class DeepResidual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        plan = [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 48, 2)] + [(48, 48, 1)] * 2
        self.blocks = nn.Sequential(*[Block(*p) for p in plan])
        self.classifier = nn.Linear(48, 10)

    def forward(self, x):
        return self.classifier(self.blocks(self.stem(x)).mean((2, 3)))


class Bottleneck(nn.Module):
    def __init__(self, cin, cout, stride, function, squeeze):
        super().__init__()
        wide = 4 * cin
        norm = nn.BatchNorm2d
        self.expand = nn.Sequential(nn.Conv2d(cin, wide, 1, bias=False), norm(wide), function())
        self.depthwise = nn.Sequential(nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), norm(wide), function())
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide // 4, 1), nn.ReLU(),
                                     nn.Conv2d(wide // 4, wide, 1), nn.Hardsigmoid()) if squeeze else None
        self.project = nn.Sequential(nn.Conv2d(wide, cout, 1, bias=False), norm(cout))
        self.adds = stride == 1 and cin == cout

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        if self.squeeze is not None:
            y = y * self.squeeze(y)
        y = self.project(y)
        return x + y if self.adds else y


class Mobile(nn.Module):
    def __init__(self, function=nn.ReLU6, squeeze=False):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), function())
        plan = [(16, 16, 1), (16, 24, 2), (24, 24, 1), (24, 32, 2), (32, 32, 1), (32, 32, 1)]
        self.blocks = nn.Sequential(*[Bottleneck(*p, function, squeeze) for p in plan])
        self.last = nn.Sequential(nn.Conv2d(32, 96, 1, bias=False), nn.BatchNorm2d(96), function())
        self.classifier = nn.Linear(96, 10)

    def forward(self, x):
        return self.classifier(self.last(self.blocks(self.stem(x))).mean((2, 3)))


def detector_batch(split, count, g):
    x, there, at = placed(split, count, 24, g)
    return x, (there, at)


def detector_loss(out, wanted):
    there, at = wanted
    box = ((out[1] - at[:, :3]) ** 2).mean(1) + ((out[2] - at[:, 3:]) ** 2).mean(1)
    return F.nll_loss(torch.log(out[0] + 1e-9), there.long()) + 5 * (box * there).mean()


def regressor_batch(split, count, g):
    while True:
        x, there, at = placed(split, 2 * count, 24, g)
        if there.sum() >= count:
            return x[there > 0][:count], at[there > 0][:count]


def fashion_batch(split, count, g):
    x, y = images("fashion", split)
    pick = torch.randint(len(x), (count,), generator=g)
    x = torch.roll(x[pick], tuple(int(d) for d in torch.randint(-2, 3, (2,), generator=g)), (2, 3))
    return (x.flip(3) if torch.rand(1, generator=g) < 0.5 else x), y[pick]


def denoiser_batch(split, count, g):
    x, _ = fashion_batch(split, count, g)
    strength = 0.05 + 0.2 * torch.rand(count, 1, 1, 1, generator=g)
    return torch.clamp(x + strength * torch.randn(x.shape, generator=g), 0, 1), x


square = lambda out, wanted: F.mse_loss(out, wanted)
NETWORKS = {
    "detector": (Detector, detector_batch, detector_loss, 600),
    "regressor": (Regressor, regressor_batch, square, 600),
    "denoiser": (Denoiser, denoiser_batch, square, 250),
    "residual": (DeepResidual, fashion_batch, F.cross_entropy, 400),
    "mobile": (Mobile, fashion_batch, F.cross_entropy, 400),
    "swish": (lambda: Mobile(nn.Hardswish, True), fashion_batch, F.cross_entropy, 400),
}


def main(out, names):
    torch.set_num_threads(1)
    for name in names or NETWORKS:
        make, batch, loss_of, steps = NETWORKS[name]
        torch.manual_seed(0)
        g = torch.Generator().manual_seed(1)
        model = make().train()
        optimizer = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
        for step in range(steps):
            x, wanted = batch("train", 32, g)
            loss = loss_of(model(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if step % 100 == 99:
                print(f"{name} {step + 1}: {loss.item():.4f}", flush=True)
        model.eval()
        with torch.no_grad():
            x, wanted = batch("test", 200, g)
            print(f"{name}: loss on other images {loss_of(model(x), wanted).item():.4f}", flush=True)
            calibration, _ = batch("train", 48, g)
        program = torch.export.export(model, (calibration[:1],))
        torch.export.save(program, f"{out}/{name}.pt2")
        make_portable(f"{out}/{name}.pt2")
        np.savez_compressed(f"{out}/{name}_calibration.npz", x=calibration.numpy())
        np.savez_compressed(f"{out}/{name}_test.npz", x=x[:100].numpy())
        if loss_of is F.cross_entropy:
            x, labels = batch("test", 1000, g)
            np.savez_compressed(f"{out}/{name}_labelled.npz", x=x.numpy(), y=labels.numpy())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
