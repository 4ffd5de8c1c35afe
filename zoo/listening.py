#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains three networks that listen, on signals that are made here: no recording of anybody's is in them.

usage: listening.py OUT_DIR [NAME...]   writes NAME.pt2, NAME_calibration.npz (x) and NAME_test.npz: sequences x
                                        [samples, steps, ...], PyTorch's outputs y of every step, and what they should be

spotter   names sounds in noise, one score per name and frame, by causal convolutions over 20 ms of log-mel features. It
          is a network over a window: --stream makes a program of it that takes one frame.
denoiser  how much of each mel band is voice, frame by frame, by a GRU: 49 thousand parameters.
anomaly   the next eight samples of a heartbeat, by an LSTM, and how far off it was: odd beats are what it did not expect.
"""
import random
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

here = Path(__file__).resolve().parent
sys.path += [str(here), str(here / "../python/cormorant"), str(here / "../examples/listener")]
from log_mel import LogMel  # noqa: E402
from portable import make_portable  # noqa: E402
import sounds  # noqa: E402

FRONT_END = LogMel(rate=sounds.RATE, window=480, hop=320, fft=512, mels=32)


def features(samples):
    """[frames, mels], around 0 and within about 4 of it."""
    samples = np.clip(np.round(samples), -32768, 32767).astype(np.int16)
    return FRONT_END(samples).astype(np.float32) / 1024 - 3


def samples_of(frames):
    return FRONT_END.window + (frames - 1) * FRONT_END.hop


def train(model, batch, steps, rate):
    """batch(): a loss."""
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for step in range(steps):
        loss = batch()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def save(folder, name, model, shape, calibration, **test):
    torch.export.save(torch.export.export(model, (torch.zeros(shape),)), folder / f"{name}.pt2")
    make_portable(folder / f"{name}.pt2")
    np.savez_compressed(folder / f"{name}_calibration.npz", x=calibration)
    np.savez_compressed(folder / f"{name}_test.npz", **test)


def along(model, sequences):
    """What a model that keeps state gives, step by step."""
    outputs = []
    with torch.no_grad():
        for sequence in sequences:
            for value in model.buffers():
                value.zero_()
            outputs.append(torch.stack([model(step).clone() for step in torch.tensor(sequence)]))
    for value in model.buffers():
        value.zero_()
    return torch.stack(outputs).numpy()


# ---- spotter -----------------------------------------------------------------------------------------------------------


class Causal(nn.Module):
    """A convolution that looks back only, with what follows it."""

    def __init__(self, inputs, outputs, kernel, dilation=1, groups=1):
        super().__init__()
        self.past = (kernel - 1) * dilation
        self.conv = nn.Conv1d(inputs, outputs, kernel, dilation=dilation, groups=groups)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(F.pad(x, (self.past, 0)))))


class Spotter(nn.Module):
    WINDOW = 32  # frames; an entry looks back at 30

    def __init__(self, width=32):
        super().__init__()
        layers = [Causal(FRONT_END.mels, width, 3)]
        for dilation in (1, 2, 4):
            layers += [Causal(width, width, 5, dilation, groups=width), Causal(width, width, 1)]
        self.layers = nn.Sequential(*layers)
        self.scores = nn.Conv1d(width, len(sounds.NAMES), 1)

    def forward(self, x):
        return self.scores(self.layers(x))


def recording(rng, label, frames, rest):
    """A sound in noise that ends `rest` frames before the recording does."""
    sound = np.array(sounds.make(sounds.NAMES[label], rng))
    count = samples_of(frames)
    samples = np.random.default_rng(rng.getrandbits(32)).normal(0, 10 ** rng.uniform(0, 2), count)
    end = count - rest * FRONT_END.hop
    begin = end - len(sound)
    level = 10 ** rng.uniform(2.8, 4.3)
    samples[max(begin, 0):end] += level * sound[max(-begin, 0):]
    return features(samples)


def spotter(folder, frames=40, after=4):
    """Trained to say the name for some frames when a sound is over, and nothing before its last third."""
    rng = random.Random(1)
    nothing = 0

    def examples(count, rest=None):
        data, labels, names = [], [], []
        for i in range(count):
            label = i % len(sounds.NAMES)
            quiet = rng.randint(0, 2 * after) if rest is None else rest
            data.append(recording(rng, label, frames, quiet))
            wanted = np.full(frames, -100)  # nobody is asked
            wanted[:frames - quiet - 10] = nothing
            end = frames - quiet
            wanted[end:end + after] = label
            wanted[end + 2 * after:] = nothing
            if label == nothing:
                wanted[:] = nothing
            labels.append(wanted)
            names.append(label)
        return np.stack(data), np.stack(labels), np.array(names)

    data, labels, _ = examples(1500)
    x, y = torch.tensor(data).transpose(1, 2), torch.tensor(labels)
    model = Spotter()

    def batch():
        chosen = torch.randint(len(x), (48,))
        return F.cross_entropy(model(x[chosen]), y[chosen], ignore_index=-100, label_smoothing=0.02)

    train(model, batch, 900, 8e-3)
    test, _, names = examples(50, rest=2)
    with torch.no_grad():
        # The zeros before a sequence are those that a stream begins with.
        scores = model(torch.tensor(test).transpose(1, 2)).numpy()
    print(f"spotter: {100 * np.mean(scores[:, :, -1].argmax(1) == names):.1f} % of {len(test)} sounds, "
          f"{sum(p.numel() for p in model.parameters())} parameters")
    windows = data[:64, -Spotter.WINDOW:].transpose(0, 2, 1)[:, None]
    steps = lambda a: np.ascontiguousarray(a.transpose(0, 2, 1)[:, :, None, :, None])  # [samples, steps, 1, channels, 1]
    save(folder, "spotter", model, (1, FRONT_END.mels, Spotter.WINDOW), np.ascontiguousarray(windows),
         x=steps(test.transpose(0, 2, 1)), y=steps(scores), labels=names)


# ---- denoiser ----------------------------------------------------------------------------------------------------------


class Denoiser(nn.Module):
    """Log-mel features of noisy voice to the part of each band that is voice, 0 to 1."""

    def __init__(self, inner=56, units=96):
        super().__init__()
        self.enter = nn.Linear(FRONT_END.mels, inner)
        self.gru = nn.GRU(inner, units, batch_first=True)
        self.leave = nn.Linear(units, FRONT_END.mels)

    def forward(self, x, h=None):
        y, h = self.gru(torch.relu(self.enter(x)), h)
        return torch.sigmoid(self.leave(y)), h


class DenoiserStep(nn.Module):
    """One frame; the GRU's state is a buffer."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.register_buffer("h", torch.zeros(1, 1, model.gru.hidden_size))

    def forward(self, x):
        y, h = self.model(x[:, None], self.h)
        self.h.copy_(h)
        return y[:, 0]


def voice(rng, count):
    """Syllables: harmonics of a gliding pitch under two moving formants, with pauses."""
    out, at = np.zeros(count), 0
    while at < count:
        at += int(rng.uniform(0.03, 0.15) * sounds.RATE)
        length = min(int(rng.uniform(0.12, 0.4) * sounds.RATE), count - at)
        if length < 400:
            break
        part = np.arange(length) / length
        pitch = rng.uniform(90, 250) * (1 + rng.uniform(-0.2, 0.2) * part)
        phase = 2 * np.pi * np.cumsum(pitch) / sounds.RATE
        first = rng.uniform(300, 800) + rng.uniform(-200, 200) * part
        second = rng.uniform(900, 2400) + rng.uniform(-400, 400) * part
        syllable = np.zeros(length)
        for harmonic in range(1, 30):
            f = harmonic * pitch
            loud = np.exp(-((f - first) / 150) ** 2) + 0.5 * np.exp(-((f - second) / 250) ** 2) + 0.02
            syllable += loud * (f < 6000) * np.sin(harmonic * phase)
        out[at:at + length] += np.sin(np.pi * part) ** 0.7 * syllable
        at += length
    return out


def noise(rng, count):
    """Steady, coloured, with a hum or without."""
    spectrum = np.fft.rfft(np.random.default_rng(rng.getrandbits(32)).normal(0, 1, count))
    hertz = np.fft.rfftfreq(count, 1 / sounds.RATE)
    colour = (1 + hertz / 500) ** rng.uniform(-1.5, 0.5)
    out = np.fft.irfft(spectrum * colour, count)
    out /= out.std()
    if rng.random() < 0.5:
        hum = rng.uniform(50, 400)
        for harmonic in range(1, 4):
            out += rng.uniform(0, 1) * np.sin(2 * np.pi * hum * harmonic * np.arange(count) / sounds.RATE)
    return out


def denoiser(folder, frames=50):
    rng = random.Random(2)

    def examples(count):
        noisy, gains = [], []
        for _ in range(count):
            clean = voice(rng, samples_of(frames)) * 10 ** rng.uniform(2.8, 3.6)
            level = clean.std() * 10 ** (-rng.uniform(-5, 15) / 20)
            rest = noise(rng, len(clean)) * level
            both, wanted = features(clean + rest), features(clean)
            noisy.append(both)
            gains.append(np.clip(2.0 ** (2 * (wanted - both)), 0, 1))  # of amplitudes: half of 4 octaves of energy
        return np.stack(noisy), np.stack(gains)

    data, gains = examples(400)
    x, y = torch.tensor(data), torch.tensor(gains)
    model = Denoiser()

    def batch():
        chosen = torch.randint(len(x), (32,))
        return F.mse_loss(model(x[chosen])[0], y[chosen])

    train(model, batch, 700, 8e-3)
    test, wanted = examples(12)
    step = DenoiserStep(model).eval()
    sequences = test[:, :, None]
    got = along(step, sequences)
    off = lambda gain: np.sqrt(np.mean((gain - wanted) ** 2))
    print(f"denoiser: gains are off by {off(got[:, :, 0]):.3f}, without a network by {off(np.ones_like(wanted)):.3f}, "
          f"{sum(p.numel() for p in model.parameters())} parameters")
    save(folder, "denoiser", step, (1, FRONT_END.mels), data[:8, :, None],
         x=sequences, y=got, gains=np.round(wanted[:, :, None] * 256) / 256)


# ---- anomaly -----------------------------------------------------------------------------------------------------------


class Predictor(nn.Module):
    CHUNK = 8  # samples per step

    def __init__(self, units=24):
        super().__init__()
        self.lstm = nn.LSTM(self.CHUNK, units, batch_first=True)
        self.next = nn.Linear(units, self.CHUNK)

    def forward(self, x, state=None):
        y, state = self.lstm(x, state)
        return self.next(y), state


class AnomalyStep(nn.Module):
    """How far the new samples are from what was expected of them, on average."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        for name in ("h", "c"):
            self.register_buffer(name, torch.zeros(1, 1, model.lstm.hidden_size))
        self.register_buffer("expected", torch.zeros(1, model.CHUNK))

    def forward(self, x):
        off = x - self.expected
        expected, (h, c) = self.model(x[:, None], (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        self.expected.copy_(expected[:, 0])
        return off.abs().mean(1, keepdim=True)


def heartbeats(rng, count, odd):
    """An ECG at 125 samples per second, made of bumps; with `odd`, the beat in the middle comes early and is broad."""
    time = np.arange(count) / 125
    out = np.random.default_rng(rng.getrandbits(32)).normal(0, 0.02, count)
    out += 0.05 * np.sin(2 * np.pi * rng.uniform(0.15, 0.4) * time + rng.uniform(0, 6))
    period, at = rng.uniform(0.65, 0.95), -rng.uniform(0, 0.6)
    height = rng.uniform(0.8, 1.2)
    middle = count / 250
    is_odd_due = odd
    bump = lambda centre, width, size: size * np.exp(-((time - centre) / width) ** 2)
    while at < count / 125:
        if is_odd_due and at > middle:
            is_odd_due = False
            early = at - rng.uniform(0.15, 0.3) * period
            out += bump(early, 0.06, 0.9 * height) + bump(early + 0.12, 0.07, -0.5 * height)
        else:
            out += height * (bump(at - 0.16, 0.025, 0.12) + bump(at - 0.03, 0.012, -0.1) + bump(at, 0.014, 1.0)
                             + bump(at + 0.03, 0.012, -0.2) + bump(at + 0.22, 0.045, 0.25))
        at += period * rng.uniform(0.97, 1.03)
    return out.astype(np.float32)


def anomaly(folder, steps=64):
    rng = random.Random(3)
    chunk = Predictor.CHUNK
    examples = lambda count, odd: np.stack(
        [heartbeats(rng, steps * chunk, odd).reshape(steps, chunk) for _ in range(count)])
    data = examples(600, False)
    x = torch.tensor(data)
    model = Predictor()

    def batch():
        seen = x[torch.randint(len(x), (48,))]
        return F.mse_loss(model(seen[:, :-1])[0], seen[:, 1:])

    train(model, batch, 1500, 1e-2)
    step = AnomalyStep(model).eval()
    is_odd = np.arange(40) % 2
    sequences = np.stack([examples(1, bool(odd))[0] for odd in is_odd])[:, :, None]
    got = along(step, sequences)
    worst = got[:, 16:].max(axis=(1, 2, 3))  # of the first second nothing is known yet
    above = np.mean(worst[is_odd == 1][:, None] > worst[is_odd == 0][None])
    print(f"anomaly: an odd record is above a sound one in {100 * above:.1f} % of pairs; "
          f"worst sound {worst[is_odd == 0].max():.3f}, least odd {worst[is_odd == 1].min():.3f}; "
          f"{sum(p.numel() for p in model.parameters())} parameters")
    save(folder, "anomaly", step, (1, chunk), np.concatenate([data[:6], examples(6, True)])[:, :, None],
         x=sequences, y=got, odd=is_odd)


def main(folder, names):
    folder.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    for name, make in {"spotter": spotter, "denoiser": denoiser, "anomaly": anomaly}.items():
        if not names or name in names:
            torch.manual_seed(1)
            make(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
