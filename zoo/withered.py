#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains networks on data made here, with weight decay, until channels wither: three of MLPerf Tiny's architectures, and
on request a MobileNetV2 for small boards.

  kws  twelve melodies of two to four notes in noise, as 49 frames of 10 log-mel features
  vww  whether a garment (Fashion-MNIST) is among the shapes of a picture of 96x96 pixels
  mv2  the same pictures, three classes: nothing to wear, something for the feet, other garments; width 0.35
  ad   spectra of a running machine, five frames of 128 log-mel features; anomalies have another harmonic or a knock

usage: withered.py OUT_DIR [kws|vww|mv2|ad ...]      reads fashion_test.npz beside this script; mv2 needs torchvision

Writes NAME.pt2, NAME_calibration.npz (x), NAME_expected.npz (x and PyTorch's output y) and NAME_test.npz (x, y; of ad y is
1 where something is wrong). Seeded weights have no withered channels, equal ranges everywhere and outputs that hardly
vary: speed and accuracy measured on them say little about networks that people train.
"""
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from models import Autoencoder, KeywordSpotter, PersonDetector
from portable import make_portable

HERE = os.path.dirname(os.path.abspath(__file__))
RATE = 16000


def mel_filters(mels, bins, low=40.0, high=7600.0):
    """Triangles, evenly spaced in mel, as a matrix [bins, mels]."""
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    edges = 700 * (10 ** (np.linspace(to_mel(low), to_mel(high), mels + 2) / 2595) - 1)
    f = np.linspace(0, RATE / 2, bins)[:, None]
    rising = (f - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - f) / (edges[2:] - edges[1:-1])
    return torch.tensor(np.clip(np.minimum(rising, falling), 0, None), dtype=torch.float32)


def log_mel(samples, window, hop, mels):
    """[count, samples] -> [count, frames, mels]"""
    fft = 1 << (window - 1).bit_length()
    spectrum = torch.stft(samples, fft, hop, window, torch.hann_window(window), center=False, return_complex=True)
    energy = spectrum.abs().square().transpose(1, 2) @ mel_filters(mels, fft // 2 + 1)
    return torch.log(energy + 1e-3)


def few_bits(x, steps):
    """Values that compress well in a file."""
    return torch.round(x * steps) / steps


# Keyword spotting.

MELODIES = [(), (0, 4), (4, 0), (0, 7), (7, 0), (0, 4, 7), (7, 4, 0), (0, 7, 4), (0, 12), (12, 0), (0, 4, 0, 4), (4, 7, 4, 0)]


def melody(notes, rng):
    """One second."""
    wave = np.zeros(RATE + 1200, np.float32)
    if notes:
        base, length = rng.uniform(220, 520), int(rng.uniform(0.13, 0.2) * RATE)
        at = int(rng.uniform(0, RATE - len(notes) * length))
        harmonics = rng.uniform(0, 1, 4) * 0.6 ** np.arange(4)
        for note in notes:
            t = np.arange(length) / RATE
            pitch = base * 2 ** (note / 12)
            tone = sum(h * np.sin(2 * np.pi * (k + 1) * pitch * t) for k, h in enumerate(harmonics))
            wave[at:at + length] += tone * np.sin(np.pi * np.arange(length) / length) ** 0.5
            at += length
    wave *= 10 ** rng.uniform(-1.5, 0) / (np.abs(wave).max() + 1e-6)
    return wave + rng.normal(0, 10 ** rng.uniform(-3.5, -1.8), len(wave)).astype(np.float32)


def kws_data(count, rng):
    labels = rng.integers(0, len(MELODIES), count)
    waves = torch.tensor(np.stack([melody(MELODIES[label], rng) for label in labels]))
    features = log_mel(waves, 640, 320, 10)[:, None, :49]
    return few_bits(features, 16), torch.tensor(labels)


# Visual wake words.


FOOTWEAR = (5, 7, 9)  # Fashion-MNIST's sandals, sneakers and boots


def garments():
    """Other garments, footwear."""
    data = np.load(f"{HERE}/fashion_test.npz")
    x = torch.tensor(data["x"][:, :1, 2:30, 2:30])  # before it was padded to 32x32 RGB
    is_footwear = torch.tensor(np.isin(data["y"], FOOTWEAR))
    return x[~is_footwear], x[is_footwear]


def shape(rng, size):
    """A mask: an ellipse, a box or stripes."""
    y, x = np.mgrid[-1:1:size * 1j, -1:1:size * 1j]
    angle = rng.uniform(0, np.pi)
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    kind, flat = rng.integers(3), rng.uniform(0.3, 0.9)
    if kind == 0:
        mask = u ** 2 + (v / flat) ** 2 < 0.9
    elif kind == 1:
        mask = (np.abs(u) < 0.7) & (np.abs(v) < 0.7 * flat)
    else:
        mask = (np.sin(8 * u) > 0) & (u ** 2 + v ** 2 < 0.9)
    return torch.tensor(mask * (0.6 + 0.4 * v), dtype=torch.float32)[None]


def picture(garment, rng):
    """Shapes before a gradient, the garment (or none) among them."""
    corners = torch.tensor(rng.uniform(0, 1, (1, 3, 3, 3)), dtype=torch.float32)
    image = F.interpolate(corners, (96, 96), mode="bilinear", align_corners=True)[0]
    things = [None] * rng.integers(2, 6)
    if garment is not None:
        things.insert(rng.integers(len(things) // 2, len(things) + 1), garment)
    for thing in things:
        size = int(rng.integers(32, 72)) if thing is not None else int(rng.integers(12, 48))
        mask = shape(rng, size) if thing is None else F.interpolate(thing[None], (size, size), mode="bilinear")[0]
        top, left = (int(n) for n in rng.integers(0, 97 - size, 2))
        colour = torch.tensor(rng.uniform(0, 1, (3, 1, 1)), dtype=torch.float32)
        alpha = (mask > 0.1).float()
        place = image[:, top:top + size, left:left + size]
        place.copy_(place * (1 - alpha) + colour * mask * alpha)
    return (image + torch.tensor(rng.normal(0, 0.02, image.shape), dtype=torch.float32)).clamp(0, 1)


def pictures(count, rng, wardrobe, classes):
    """Of two classes, any garment is class 1; of three, footwear is class 1 and other garments are class 2."""
    labels = rng.integers(0, classes, count)
    images = []
    for label in labels:
        kinds = wardrobe[1 if label == 1 else 0] if classes == 3 else wardrobe[rng.integers(2)]
        images.append(picture(kinds[rng.integers(len(kinds))] if label != 0 else None, rng))
    return few_bits(torch.stack(images), 255), torch.tensor(labels)


# Anomaly detection.


def machine(is_wrong, rng):
    """0.6 seconds of a motor: harmonics of its speed, with load, in noise."""
    t = np.arange(int(0.6 * RATE)) / RATE
    speed = rng.uniform(45, 60) * (1 + 0.01 * np.sin(2 * np.pi * rng.uniform(1, 3) * t))
    phase = 2 * np.pi * np.cumsum(speed) / RATE
    load = rng.uniform(0.3, 1)
    wave = sum(load ** (k % 3) / (k + 1) * np.sin((k + 1) * phase + rng.uniform(0, 6)) for k in range(12))
    wave += rng.normal(0, 0.05, len(t))
    if is_wrong and rng.random() < 0.5:
        wave += rng.uniform(0.1, 0.4) * np.sin(rng.uniform(20, 60) * phase)
    elif is_wrong:
        knock = rng.normal(0, 1, len(t)) * (np.sin(phase / 2) > 0.97)
        wave += rng.uniform(0.5, 2) * knock
    return wave.astype(np.float32)


def ad_data(count, rng, part=0.0):
    labels = (rng.uniform(0, 1, count) < part).astype(np.int64)
    waves = torch.tensor(np.stack([machine(label, rng) for label in labels]))
    frames = log_mel(waves, 1024, 512, 128)
    begin = rng.integers(0, frames.shape[1] - 4, count)
    x = torch.stack([frames[i, b:b + 5].reshape(-1) for i, b in enumerate(begin)])
    return few_bits(x, 16), torch.tensor(labels)


def train(model, x, y, loss_of, steps, decay, batch=64):
    """AdamW: what nothing asks for shrinks by a constant factor per step, batch norms' factors included. Not from the
    beginning, or deep networks wither before they have learnt anything."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    model.train()
    for step in range(steps):
        if step == steps // 3:
            optimizer.param_groups[0]["weight_decay"] = decay
        picked = torch.randint(len(x), (batch,))
        loss = loss_of(model(x[picked]), x[picked], y[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 200 == 199:
            print(f"  step {step + 1}: loss {loss.item():.4f}", flush=True)
    return model.eval()


def mobilenet_v2(classes):
    import torchvision

    return nn.Sequential(torchvision.models.mobilenet_v2(width_mult=0.35, num_classes=classes), nn.Softmax(-1))


def classify(output, x, y):
    return F.nll_loss(torch.log(output + 1e-7), y)


def repeat(output, x, y):
    return F.mse_loss(output, x)


def withered(model):
    """Channels whose batch norm gives next to nothing of what comes in."""
    norms = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    count = sum(m.num_features for m in norms)
    return sum(int((m.weight.abs() < 1e-3).sum()) for m in norms), count


def main(out, names):
    torch.set_num_threads(1)
    for name in names:
        torch.manual_seed(1)
        is_image = name in ("vww", "mv2")
        rng = np.random.default_rng(1)
        if name == "kws":
            model, data, loss = KeywordSpotter(), lambda count, part=0: kws_data(count, rng), classify
            counts, steps, decay = (5000, 300), 700, 4
        elif is_image:
            wardrobe, classes = garments(), 2 if name == "vww" else 3
            model = PersonDetector() if name == "vww" else mobilenet_v2(classes)
            data, loss = lambda count, part=0: pictures(count, rng, wardrobe, classes), classify
            counts, steps, decay = (3000, 64), 1500, 2
        else:
            model, data, loss = Autoencoder(), lambda count, part=0: ad_data(count, rng, part), repeat
            counts, steps, decay = (5000, 300), 1200, 1.5
        x, y = data(counts[0])
        mean, deviation = x.mean(), x.std()
        if not is_image:
            x = few_bits((x - mean) / deviation, 32)
        model = train(model, x, y, loss, steps, decay, 32 if is_image else 64)
        test_x, test_y = data(counts[1], 0.5)
        if not is_image:
            test_x = few_bits((test_x - mean) / deviation, 32)
        with torch.no_grad():
            outputs = torch.cat([model(test_x[i:i + 1]) for i in range(len(test_x))])
        if name == "ad":
            error = (outputs - test_x).square().mean(1)
            wrong, right = error[test_y == 1], error[test_y == 0]
            score = f"AUC {(wrong[:, None] > right).float().mean():.3f}"
        else:
            score = f"{100 * (outputs.argmax(1) == test_y).float().mean():.1f} %"
        print(f"{name}: {score}; {withered(model)} channels withered", flush=True)
        torch.export.save(torch.export.export(model, (x[:1].clone(),)), f"{out}/{name}.pt2")
        make_portable(f"{out}/{name}.pt2")
        np.savez_compressed(f"{out}/{name}_calibration.npz", x=x[:24 if is_image else 100].numpy())
        np.savez_compressed(f"{out}/{name}_expected.npz", x=test_x[:8].numpy(), y=outputs[:8].numpy())
        np.savez_compressed(f"{out}/{name}_test.npz", x=test_x.numpy(), y=test_y.numpy())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:] or ["kws", "vww", "ad"])
