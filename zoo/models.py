# SPDX-License-Identifier: Apache-2.0
"""The zoo's architectures: a digit recognizer of our own and the four networks of MLPerf Tiny.

Batch norms stay in the models and so in the exports: folding them is the compiler's job.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBN(nn.Module):
    def __init__(self, cin, cout, kernel, stride=1, padding=0, groups=1, relu=True):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, stride, padding, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU() if relu else nn.Identity()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class Digits(nn.Module):
    """Depthwise-separable CNN for 28x28 grey digits, 10 classes."""

    def __init__(self):
        super().__init__()
        self.stem = ConvBN(1, 16, 3, 2, 1)
        blocks = []
        for cin, cout, stride in ((16, 32, 1), (32, 32, 2), (32, 64, 1), (64, 64, 2)):
            blocks += [ConvBN(cin, cin, 3, stride, 1, groups=cin), ConvBN(cin, cout, 1)]
        self.blocks = nn.Sequential(*blocks)
        self.classifier = nn.Linear(64, 10)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return torch.softmax(self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1)), -1)


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.a = ConvBN(cin, cout, 3, stride, 1)
        self.b = ConvBN(cout, cout, 3, 1, 1, relu=False)
        self.skip = nn.Conv2d(cin, cout, 1, stride) if stride > 1 or cin != cout else nn.Identity()

    def forward(self, x):
        return F.relu(self.skip(x) + self.b(self.a(x)))


class ResNet8(nn.Module):
    """MLPerf Tiny's image classification (IC): 32x32 RGB, 10 classes."""

    def __init__(self):
        super().__init__()
        self.stem = ConvBN(3, 16, 3, 1, 1)
        self.stages = nn.Sequential(Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2))
        self.classifier = nn.Linear(64, 10)

    def forward(self, x):
        x = F.avg_pool2d(self.stages(self.stem(x)), 8)
        return torch.softmax(self.classifier(torch.flatten(x, 1)), -1)


def separable(cin, cout, stride=1):
    pad = nn.ZeroPad2d((0, 1, 0, 1)) if stride == 2 else nn.Identity()  # TensorFlow's SAME padding
    depthwise = ConvBN(cin, cin, 3, stride, 0 if stride == 2 else 1, cin)
    return nn.Sequential(pad, depthwise, ConvBN(cin, cout, 1))


class KeywordSpotter(nn.Module):
    """MLPerf Tiny's keyword spotting (KWS): DS-CNN on 49x10 MFCC, 12 classes."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.ZeroPad2d((1, 1, 4, 5)), ConvBN(1, 64, (10, 4), 2))
        self.blocks = nn.Sequential(*[separable(64, 64) for _ in range(4)])
        self.classifier = nn.Linear(64, 12)

    def forward(self, x):
        x = F.avg_pool2d(self.blocks(self.stem(x)), (25, 5))
        return torch.softmax(self.classifier(x.flatten(1)), -1)


class PersonDetector(nn.Module):
    """MLPerf Tiny's visual wake words (VWW): MobileNetV1 x0.25, 96x96 RGB, 2 classes."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), ConvBN(3, 8, 3, 2))
        plan = [(8, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2)]
        plan += [(128, 128, 1)] * 5 + [(128, 256, 2), (256, 256, 1)]
        self.blocks = nn.Sequential(*[separable(*step) for step in plan])
        self.classifier = nn.Linear(256, 2)

    def forward(self, x):
        x = F.avg_pool2d(self.blocks(self.stem(x)), 3)
        return torch.softmax(self.classifier(x.flatten(1)), -1)


class Autoencoder(nn.Module):
    """MLPerf Tiny's anomaly detection (AD): dense autoencoder on 640 features."""

    def __init__(self):
        super().__init__()
        sizes = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128]
        self.layers = nn.ModuleList(
            [nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()) for a, b in zip(sizes, sizes[1:])]
        )
        self.out = nn.Linear(128, 640)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(x)
