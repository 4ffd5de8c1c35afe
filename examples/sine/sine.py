# SPDX-License-Identifier: Apache-2.0
"""A sine from a network of 321 weights. Writes sine.pt2 and sine_calibration.npz into the current folder."""
import numpy as np
import torch
import torch.nn as nn


class Sine(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, angle):
        return {"sine": self.layers(angle)}


def main():
    torch.manual_seed(3)
    model = Sine()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3000)
    for _ in range(3000):
        angle = 2 * np.pi * torch.rand(256, 1)
        loss = ((model(angle)["sine"] - torch.sin(angle)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    torch.export.save(torch.export.export(model, (torch.zeros(1, 1),)), "sine.pt2")
    angles = np.linspace(0, 2 * np.pi, 200, dtype=np.float32).reshape(-1, 1, 1)
    np.savez_compressed("sine_calibration.npz", angle=angles)
    print(f"mean square error {loss.item():.5f}")


main()
