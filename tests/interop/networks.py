# SPDX-License-Identifier: Apache-2.0
"""The models of the interoperability run, of different kinds: networks, single operators, float programs.

All have seeded random weights; batch norms have seen some input first, so that outputs are not constant.
"""
import dataclasses
import pathlib
import sys
from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "zoo"))


class KeywordNet(nn.Module):
    """Convolution, depthwise separable blocks with a residual, average pooling, linear: small enough for a fixture."""

    def __init__(self, width=12, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(1, width, (5, 4), stride=2, padding=(2, 1), bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.pointwise = nn.Conv2d(width, width, 1)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        x = x + F.relu(self.pointwise(F.relu(self.depthwise(x))))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Pools(nn.Module):
    """Both poolings with padding, a convolution whose padding is not symmetric, a depth multiplier."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 7, 3)
        self.wide = nn.Conv2d(7, 14, 3, padding=1, groups=7)

    def forward(self, x):
        x = F.relu(self.first(F.pad(x, (0, 1, 0, 1))))
        x = F.max_pool2d(x, 3, 2, 1)
        return F.avg_pool2d(self.wide(x), 3, 2, 1)


class Upsampler(nn.Module):
    """A transposed convolution and the convolution that follows it in most decoders."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(6, 5, 4, stride=2, padding=1)
        self.smooth = nn.Conv2d(5, 3, 3, padding=1)

    def forward(self, x):
        return F.relu(self.smooth(self.up(x)))


class Rows(nn.Module):
    """Signals as images of one row, with strides that leave something over at the end."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 16, (1, 4), stride=(1, 2), padding=(0, 1)), nn.Conv2d(16, 4, (1, 3), stride=(1, 3))

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


class Decoder(nn.Module):
    """Transposed convolutions whose padding is not a multiple of the stride."""

    def __init__(self):
        super().__init__()
        self.first = nn.ConvTranspose2d(5, 6, 3, stride=2, padding=1)
        self.second = nn.ConvTranspose2d(6, 3, 4, stride=3, padding=2)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


class ChannelFactors(nn.Module):
    """A factor and a summand per channel, and nothing that would want channels next to each other."""

    def __init__(self):
        super().__init__()
        self.factor, self.summand = nn.Parameter(torch.randn(1, 5, 1, 1)), nn.Parameter(torch.randn(1, 5, 1, 1))

    def forward(self, x):
        return x * self.factor + self.summand


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(40, 24), nn.ReLU(), nn.Linear(24, 6), nn.ReLU(), nn.Linear(6, 24),
                                    nn.ReLU(), nn.Linear(24, 40))

    def forward(self, x):
        return self.layers(x)


class Attention(nn.Module):
    """Two matrix products around a softmax."""

    def forward(self, query, key, value):
        return torch.bmm(torch.softmax(torch.bmm(query, key), dim=-1), value)


class Activations(nn.Module):
    """The functions that become tables, side by side."""

    def forward(self, x):
        return torch.sigmoid(x) + torch.tanh(x) + F.silu(x) + F.gelu(x)


class HardActivations(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2)

    def forward(self, x):
        x = F.hardswish(self.conv(x))
        return x * F.hardsigmoid(x)


class SqueezeExcite(nn.Module):
    """The block of MobileNetV3, with a hard function after every kind of layer that ExecuTorch joins it with."""

    def __init__(self):
        super().__init__()
        self.conv, self.point = nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 12, 1)
        self.squeeze, self.excite = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.hidden, self.gate = nn.Linear(12, 10), nn.Linear(10, 6)

    def forward(self, x):
        x = F.hardswish(self.conv(x))
        attention = F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))
        x = x * F.hardsigmoid(self.excite(attention))
        x = F.hardswish(self.point(x)).mean((2, 3))
        return F.hardsigmoid(self.gate(F.hardswish(self.hidden(x))))


class Arithmetic(nn.Module):
    def forward(self, x, y):
        return torch.maximum(x + y, x * y) - torch.minimum(x, y)


class Rearranged(nn.Module):
    """Data movement between convolutions: split, shuffle, concatenate, transpose."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        x = torch.cat([self.left(a), self.right(b)], dim=1)
        x = x.reshape(x.shape[0], 2, 4, *x.shape[2:]).transpose(1, 2).flatten(1, 2)
        return x.permute(0, 2, 3, 1)[:, 1:]


class FloatMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 12), nn.Linear(12, 4)

    def forward(self, x):
        return torch.softmax(self.second(torch.tanh(self.first(x))), dim=-1)


class FloatConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, stride=2, padding=1)

    def forward(self, x):
        return F.max_pool2d(F.relu(self.conv(x)), 2).mean(dim=(2, 3))


class FloatDecoder(nn.Module):
    """Convolutions and transposed ones of every kind: strides, groups, dilation."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.wide = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2, bias=False)
        self.up = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.spread = nn.ConvTranspose2d(6, 3, 3, dilation=2)

    def forward(self, x):
        x = F.relu(self.wide(F.relu(self.down(x))))
        return self.spread(F.relu(self.up(x)))


class FloatArithmetic(nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x) * y + torch.exp(-x * x)


@dataclasses.dataclass
class Model:
    make: Callable[[], nn.Module]
    shapes: tuple
    quantized: bool = True


def architecture(name, quantized=True):
    import architectures  # needs torchvision, which not every user of this module has
    make, shape = architectures.SMALL[name]
    return Model(make, ((1, *shape),), quantized)


def all_models():
    return {
        "keyword_net": Model(KeywordNet, ((1, 1, 25, 10),)),
        "pools": Model(Pools, ((1, 3, 12, 9),)),
        "upsampler": Model(Upsampler, ((1, 6, 7, 5),)),
        "rows": Model(Rows, ((1, 8, 1, 39),)),
        "decoder": Model(Decoder, ((1, 5, 6, 7),)),
        "channel_factors": Model(ChannelFactors, ((1, 5, 6, 7),)),
        "autoencoder": Model(Autoencoder, ((1, 40),)),
        "attention": Model(Attention, ((2, 5, 8), (2, 8, 7), (2, 7, 6))),
        "activations": Model(Activations, ((3, 50),)),
        "hard_activations": Model(HardActivations, ((1, 3, 11, 11),)),
        "squeeze_excite": Model(SqueezeExcite, ((1, 3, 11, 11),)),
        "arithmetic": Model(Arithmetic, ((1, 4, 6, 5), (1, 4, 6, 5))),
        "rearranged": Model(Rearranged, ((1, 8, 6, 5),)),
        "mobilenet_v2": architecture("mobilenet_v2"),
        "mobilenet_v3": architecture("mobilenet_v3"),
        "squeezenet": architecture("squeezenet"),
        "unet": architecture("unet"),
        "tcn": architecture("tcn"),
        "float_mlp": Model(FloatMlp, ((2, 16),), quantized=False),
        "float_conv": Model(FloatConv, ((1, 3, 12, 12),), quantized=False),
        "float_decoder": Model(FloatDecoder, ((1, 3, 9, 8),), quantized=False),
        "float_arithmetic": Model(FloatArithmetic, ((4, 9), (4, 9)), quantized=False),
        "float_keyword_net": Model(KeywordNet, ((1, 1, 25, 10),), quantized=False),
        "float_mobilenet_v2": architecture("mobilenet_v2", quantized=False),
        "float_tcn": architecture("tcn", quantized=False),
        "float_vit": architecture("vit", quantized=False),
    }


def make(model):
    """The module, ready for inference, and a function that makes seeded inputs."""
    torch.manual_seed(3)
    module = model.make()

    def inputs():
        return tuple(torch.randn(*shape) for shape in model.shapes)

    module.train()
    with torch.no_grad():
        for _ in range(8):
            module(*(torch.cat([x, torch.randn_like(x)]) if len(model.shapes) == 1 else x for x in inputs()))
    return module.eval(), inputs
