# SPDX-License-Identifier: Apache-2.0
"""Trains the listener on sounds of sounds.py. Writes listener.pt2 and listener_calibration.npz into the current folder.

The network sees 40 frames (0.8 s) of 32 log-mel features, as firmware computes them, divided by 256.
"""
import os
import random
import sys

import numpy as np
import torch
import torch.nn as nn

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [here, os.path.join(here, "../../python/cormorant"), os.path.join(here, "../../zoo")]
from log_mel import LogMel  # noqa: E402
from portable import make_portable  # noqa: E402
import sounds  # noqa: E402

FRAMES, EXAMPLES, TESTS = 40, 300, 100
FRONT_END = LogMel(rate=sounds.RATE, window=480, hop=320, fft=512, mels=32)
SAMPLES = FRONT_END.window + (FRAMES - 1) * FRONT_END.hop


class Listener(nn.Module):
    """Convolutions along time without padding, so that it can be streamed. Its output is the score of each name."""

    def __init__(self):
        super().__init__()
        mels, width = FRONT_END.mels, 24
        self.normalise = nn.BatchNorm1d(mels)
        self.layers = nn.Sequential(
            nn.Conv1d(mels, width, 4, stride=2), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 3), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 3, dilation=2), nn.BatchNorm1d(width), nn.ReLU())
        self.scores = nn.Linear(width, len(sounds.NAMES))

    def forward(self, x):
        return self.scores(self.layers(self.normalise(x)).mean(2))

    def fold(self):
        """The first convolution takes in the normalisation: no padding is between them."""
        norm, conv = self.normalise, self.layers[0]
        with torch.no_grad():
            scale = norm.weight / (norm.running_var + norm.eps).sqrt()
            shift = norm.bias - norm.running_mean * scale
            conv.bias += (conv.weight * shift[:, None]).sum((1, 2))
            conv.weight *= scale[:, None]
        self.normalise = nn.Identity()


def example(label, rng):
    """A window with a whole sound, or nothing but noise, or less than a third of a sound at its edge."""
    sound = sounds.make(sounds.NAMES[label], rng)
    at = rng.randint(0, SAMPLES - len(sound))
    if label == 0 and rng.random() < 0.5:
        sound = sounds.make(rng.choice(sounds.NAMES[1:]), rng)
        seen = rng.randint(0, len(sound) // 3)
        at = rng.choice([seen - len(sound), SAMPLES - seen])
    samples = np.random.default_rng(rng.getrandbits(32)).normal(0, 10 ** rng.uniform(0, 2.3), SAMPLES)
    begin, end = max(at, 0), min(at + len(sound), SAMPLES)
    samples[begin:end] += 10 ** rng.uniform(2.8, 4.3) * np.array(sound)[begin - at:end - at]
    return FRONT_END(np.clip(np.round(samples), -32768, 32767).astype(np.int16)).T.astype(np.float32) / 256


def examples(count, rng):
    labels = [i % len(sounds.NAMES) for i in range(count * len(sounds.NAMES))]
    return torch.tensor(np.stack([example(label, rng) for label in labels])), torch.tensor(labels)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    rng = random.Random(1)
    x, y = examples(EXAMPLES, rng)
    test_x, test_y = examples(TESTS, rng)
    model = Listener()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.02)
    steps = 1000
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    for step in range(steps):
        batch = torch.randint(len(x), (64,))
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch], label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    model.fold()
    with torch.no_grad():
        right = (model(test_x).argmax(1) == test_y).float().mean()
    torch.export.save(torch.export.export(model, (torch.zeros(1, FRONT_END.mels, FRAMES),)), "listener.pt2")
    make_portable("listener.pt2")
    mixed = np.random.default_rng(0).permutation(40)  # labels do not come in turn, so that every fifth sample covers them all
    np.savez_compressed("listener_calibration.npz", x=x[mixed].numpy()[:, None])
    print(f"{100 * right:.1f} % of {len(test_x)} new sounds")


main()
