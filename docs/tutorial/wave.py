# SPDX-License-Identifier: Apache-2.0
"""Tells four waveforms apart. Writes wave.pt2, wave.npy and two .npz into the current folder."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random = np.random.default_rng(1)


def waves(count):
    """Sine, square, sawtooth or none, at any pitch and phase, in noise; as an 8-bit converter would sample them."""
    kind = random.integers(0, 4, count)
    turns = random.uniform(2, 8, (count, 1)) * np.linspace(0, 1, 128) + random.uniform(0, 1, (count, 1))
    shapes = np.stack([np.sin(2 * np.pi * turns), np.sign(np.sin(2 * np.pi * turns)), 2 * (turns % 1) - 1, 0 * turns])
    x = shapes[kind, np.arange(count)] * random.uniform(0.3, 0.8, (count, 1)) + random.normal(0, 0.35, (count, 128))
    x = np.clip(np.round(x * 127) / 127, -1, 1)
    return x.reshape(count, 1, 1, 128).astype(np.float32), kind


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 16, (1, 9), stride=(1, 2), padding=(0, 4), bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 24, (1, 5), stride=(1, 2), padding=(0, 2))
        self.classifier = nn.Linear(24, 4)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = F.relu(self.second(x))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return torch.softmax(self.classifier(x), -1)


def main():
    torch.manual_seed(1)
    model = Wave()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(600):
        x, kind = waves(64)
        loss = F.nll_loss(torch.log(model(torch.tensor(x)) + 1e-9), torch.tensor(kind))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()  # batch norm and dropout as they are in use

    x, kind = waves(200)
    torch.export.save(torch.export.export(model, (torch.tensor(x[:1]),)), "wave.pt2")
    np.savez_compressed("wave_calibration.npz", x=waves(100)[0])
    np.savez_compressed("wave_test.npz", x=x, y=kind)
    np.save("wave.npy", x[2:3])  # a square wave
    print(f"accuracy {(model(torch.tensor(x)).argmax(1).numpy() == kind).mean():.3f}")


main()
