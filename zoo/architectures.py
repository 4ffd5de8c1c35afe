#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports well-known architectures with seeded weights: for coverage, speed and memory, not for accuracy.

usage: architectures.py small OUT_DIR            tiny versions of all of them, as the tests use them
       architectures.py full OUT_DIR [NAME...]   torchvision's own, in the sizes that people quote

Writes NAME.pt2, NAME_calibration.npz (x) and NAME_expected.npz (x and PyTorch's output y). Needs torch and torchvision.
Batch norms get real statistics from a few batches of smooth random input first, so that outputs are not constant.
"""
import functools
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import models
from torchvision.models.efficientnet import EfficientNet, MBConvConfig
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
from torchvision.ops.misc import Conv2dNormActivation

from portable import make_portable
from untrained import smooth


class Attention(nn.Module):
    """Self-attention over the tokens of an image, written with the primitives."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        x = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(batch, tokens, width)
        return self.out(x)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """Patch embedding, learned positions, pre-norm blocks, mean over the tokens."""

    def __init__(self, size=32, patch=8, width=48, heads=3, depth=2, classes=10):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, patch)
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2, width) * 0.2)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


def double_conv(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """Two levels down by max pooling, two up by transposed convolution, joined by concatenation."""

    def __init__(self, width=8, classes=2):
        super().__init__()
        self.down1, self.down2 = double_conv(3, width), double_conv(width, 2 * width)
        self.bottom = double_conv(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.merge2 = double_conv(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 3, stride=2, padding=1, output_padding=1)
        self.merge1 = double_conv(2 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        b = self.merge2(torch.cat([self.up2(c), b], dim=1))
        a = self.merge1(torch.cat([self.up1(b), a], dim=1))
        return self.head(a)


class TemporalBlock(nn.Module):
    """Causal dilated convolution: padded on both sides, the future cut off, a residual around it."""

    def __init__(self, inputs, outputs, dilation):
        super().__init__()
        self.cut = 2 * dilation
        self.conv = nn.Conv1d(inputs, outputs, 3, padding=self.cut, dilation=dilation)
        self.norm = nn.BatchNorm1d(outputs)
        self.shortcut = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)[:, :, :-self.cut]))
        return F.relu(y + self.shortcut(x))


class TemporalNetwork(nn.Module):
    def __init__(self, channels=6, width=16, classes=4):
        super().__init__()
        self.blocks = nn.Sequential(*[TemporalBlock(channels if i == 0 else width, width, 2 ** i) for i in range(4)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.blocks(x)[:, :, -1])


class VolumeNetwork(nn.Module):
    """Convolutions in three dimensions, attention among the places that count, and the two experts that suit best."""

    def __init__(self, width=8, experts=4, classes=6):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv3d(2, width, 3, padding=1), nn.BatchNorm3d(width), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv3d(width, width, (2, 3, 3), stride=(2, 1, 1), padding=(0, 1, 1)), nn.ReLU())
        self.apart = nn.Conv3d(width, width, (2, 1, 1), groups=width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.gate = nn.Linear(width, experts)
        self.experts = nn.Parameter(torch.randn(experts, width))
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = F.max_pool3d(self.deep(self.stem(x)), (1, 2, 2))
        tokens = self.apart(x).flatten(2).transpose(1, 2)
        tokens = tokens + self.attention(tokens, tokens, tokens, key_padding_mask=tokens.mean(2) < -0.4, need_weights=False)[0]
        seen = tokens.mean(1)
        best, places = self.gate(seen).topk(2)
        shares = torch.zeros(seen.shape[0], self.experts.shape[0]).scatter(1, places, best.softmax(1))
        return self.head(torch.cat((seen, shares @ self.experts), 1))


class Fire(nn.Module):
    def __init__(self, inputs, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.narrow, self.wide = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.narrow(x)), F.relu(self.wide(x))], dim=1)


class SmallSqueezeNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
                                      Fire(16, 4, 12), Fire(24, 6, 16), nn.MaxPool2d(3, 2, ceil_mode=True),
                                      Fire(32, 8, 20))
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Conv2d(40, classes, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        for module in self.modules():  # as the original is initialized; without, the biases outweigh the input
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return torch.flatten(self.head(self.features(x)), 1)


def small_mobilenet_v2():
    model = models.MobileNetV2(10, inverted_residual_setting=[[1, 8, 1, 1], [4, 12, 2, 2], [4, 16, 2, 2]])
    model.features[-1] = Conv2dNormActivation(16, 64, kernel_size=1, activation_layer=nn.ReLU6)
    model.classifier[1] = nn.Linear(64, 10)
    return model


def small_mobilenet_v3():
    setting = functools.partial(InvertedResidualConfig, width_mult=1.0)
    rows = [setting(8, 3, 8, 8, True, "RE", 2, 1), setting(8, 3, 24, 16, False, "RE", 2, 1),
            setting(16, 5, 40, 16, True, "HS", 1, 1), setting(16, 5, 48, 24, True, "HS", 2, 1)]
    return MobileNetV3(rows, 64, num_classes=10)


def small_efficientnet():
    rows = [MBConvConfig(1, 3, 1, 8, 8, 1), MBConvConfig(4, 3, 2, 8, 16, 2), MBConvConfig(4, 5, 2, 16, 24, 1)]
    return EfficientNet(rows, dropout=0.1, last_channel=64, num_classes=10)


def shufflenet(**arguments):
    return models.ShuffleNetV2([2, 2, 1], [12, 16, 32, 64, 96], num_classes=10, **arguments)


IMAGE = (3, 32, 32)
SMALL = {
    "mobilenet_v2": (small_mobilenet_v2, IMAGE),
    "mobilenet_v3": (small_mobilenet_v3, IMAGE),
    "efficientnet": (small_efficientnet, IMAGE),
    "shufflenet": (shufflenet, IMAGE),
    "squeezenet": (SmallSqueezeNet, IMAGE),
    "vit": (VisionTransformer, IMAGE),
    "unet": (UNet, IMAGE),
    "tcn": (TemporalNetwork, (6, 64)),
    "volume": (VolumeNetwork, (2, 4, 8, 8)),
}
FULL = {
    "mobilenet_v2": (models.mobilenet_v2, (3, 224, 224)),
    "mobilenet_v3_small": (models.mobilenet_v3_small, (3, 224, 224)),
    "efficientnet_b0": (lambda: models.efficientnet_b0(num_classes=10), (3, 64, 64)),
    "mnasnet0_5": (lambda: models.mnasnet0_5(num_classes=10), (3, 64, 64)),
    "resnet18": (lambda: models.resnet18(num_classes=10), (3, 64, 64)),
    "regnet_y_400mf": (lambda: models.regnet_y_400mf(num_classes=10), (3, 64, 64)),
    "shufflenet_v2_x0_5": (lambda: models.shufflenet_v2_x0_5(num_classes=10), (3, 64, 64)),
    "squeezenet1_1": (lambda: models.squeezenet1_1(num_classes=10), (3, 64, 64)),
}


def write(name, make, shape, out, samples, batches, batch):
    torch.manual_seed(1)
    model = make()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):  # some have 0.01, and would keep most of the statistics they start with
            module.momentum = max(module.momentum, 0.1)
    model.train()
    with torch.no_grad():
        for _ in range(batches):
            model(smooth(batch, *shape))
    model.eval()
    x = smooth(samples, *shape)
    with torch.no_grad():
        y = torch.cat([model(x[i:i + 1]) for i in range(4)])
    torch.export.save(torch.export.export(model, (x[:1].clone(),)), f"{out}/{name}.pt2")
    make_portable(f"{out}/{name}.pt2")
    np.savez_compressed(f"{out}/{name}_calibration.npz", x=x.numpy())
    np.savez_compressed(f"{out}/{name}_expected.npz", x=x[:4].numpy(), y=y.numpy())
    print(name, tuple(y.shape), f"{y.min():.4f} .. {y.max():.4f}", flush=True)


def main(kind, out, names):
    small = kind == "small"
    for name, (make, shape) in (SMALL if small else FULL).items():
        if not names or name in names:
            write(name, make, shape, out, *((20, 40, 32) if small else (32, 6, 8)))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("small", "full"):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
