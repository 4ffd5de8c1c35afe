#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles whole networks for Cortex-M55 in int8, runs them and compares with PyTorch.

usage: whole_networks.py CORMORANT WORK_DIR [--page FILE] [--seconds N] [--export] [NAME...]

Each is exported with a small image, quantized with CALIBRATION samples and executed with others on the host, and on the
emulated board if it fits there, which must give the same bits. Weights are random, since what is asked is whether it
compiles and computes what PyTorch computes; batch norms bring the samples to unit power. SQNR is that of the worst
output in dB, of what varies with the input: the mean over the samples is not signal. Deep networks of random weights
amplify every error, so it is lower than a trained network's; beside it is that of the network in float whose input alone
is rounded to 8 bits. In float the same network must give PyTorch's answer. The
exit status is 1 if a network is refused, ends in an internal error or is wrong: more than TOLERANCE apart in float, or
other bits on the board.

--page replaces the rows of the networks asked for in docs/networks.md; --export only writes the models and samples.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

CALIBRATION, SAMPLES = 12, 4
TOLERANCE = 1e-3  # of the largest output


class Outputs(nn.Module):
    """A network whose dictionary or list of results becomes a tuple."""

    def __init__(self, network, of=lambda y: y):
        super().__init__()
        self.network, self.of = network, of

    def forward(self, x):
        return self.of(self.network(x))


class SsdHeads(nn.Module):
    """ssdlite's backbone and heads, without anchors and suppression."""

    def __init__(self, detector):
        super().__init__()
        self.backbone, self.head = detector.backbone, detector.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        return found["bbox_regression"], found["cls_logits"]


class ConvSilu(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=1, stride=1):
        super().__init__(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class Split(nn.Module):
    """YOLO's block: half of the channels go through bottlenecks, and all of their results are joined."""

    def __init__(self, inputs, outputs, depth, is_residual):
        super().__init__()
        self.half = outputs // 2
        self.first = ConvSilu(inputs, outputs)
        self.steps = nn.ModuleList(nn.Sequential(ConvSilu(self.half, self.half, 3), ConvSilu(self.half, self.half, 3)) for _ in range(depth))
        self.last = ConvSilu(outputs + depth * self.half, outputs)
        self.is_residual = is_residual

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for step in self.steps:
            y = step(parts[-1])
            parts.append(parts[-1] + y if self.is_residual else y)
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """A detector of YOLO's kind up to its raw heads: three scales, joined upwards and downwards, pooled pyramid."""

    def __init__(self, width=16, outputs=64 + 20):
        super().__init__()
        w = [width, 2 * width, 4 * width, 8 * width, 16 * width]
        self.stem = nn.Sequential(ConvSilu(3, w[0], 3, 2), ConvSilu(w[0], w[1], 3, 2), Split(w[1], w[1], 1, True))
        self.down3 = nn.Sequential(ConvSilu(w[1], w[2], 3, 2), Split(w[2], w[2], 2, True))
        self.down4 = nn.Sequential(ConvSilu(w[2], w[3], 3, 2), Split(w[3], w[3], 2, True))
        self.down5 = nn.Sequential(ConvSilu(w[3], w[4], 3, 2), Split(w[4], w[4], 1, True))
        self.squeeze, self.spread = ConvSilu(w[4], w[3]), ConvSilu(4 * w[3], w[4])
        self.up4, self.up3 = Split(w[4] + w[3], w[3], 1, False), Split(w[3] + w[2], w[2], 1, False)
        self.back4, self.join4 = ConvSilu(w[2], w[2], 3, 2), Split(w[2] + w[3], w[3], 1, False)
        self.back5, self.join5 = ConvSilu(w[3], w[3], 3, 2), Split(w[3] + w[4], w[4], 1, False)
        self.heads = nn.ModuleList(nn.Sequential(ConvSilu(c, w[2], 3), nn.Conv2d(w[2], outputs, 1)) for c in w[2:])

    def forward(self, x):
        three = self.down3(self.stem(x))
        four = self.down4(three)
        pooled = [self.squeeze(self.down5(four))]
        for _ in range(3):
            pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
        five = self.spread(torch.cat(pooled, 1))
        four = self.up4(torch.cat([F.interpolate(five, scale_factor=2.0), four], 1))
        three = self.up3(torch.cat([F.interpolate(four, scale_factor=2.0), three], 1))
        four = self.join4(torch.cat([self.back4(three), four], 1))
        five = self.join5(torch.cat([self.back5(four), five], 1))
        return tuple(head(y).flatten(2) for head, y in zip(self.heads, (three, four, five)))


class Wav2Letter(nn.Sequential):
    """Convolutions over 39 coefficients of time, eleven layers."""

    def __init__(self, classes=29, width=250, wide=2000):
        shapes = [(39, width, 48, 2)] + [(width, width, 7, 1)] * 7 + [(width, wide, 32, 1), (wide, wide, 1, 1)]
        layers = []
        for inputs, outputs, kernel, stride in shapes:
            layers += [nn.Conv1d(inputs, outputs, kernel, stride, kernel // 2), nn.ReLU()]
        super().__init__(*layers, nn.Conv1d(wide, classes, 1), nn.LogSoftmax(1))
        for layer in self:  # which otherwise leave next to nothing of the input behind eleven biases
            if isinstance(layer, nn.Conv1d):
                nn.init.kaiming_normal_(layer.weight)
                nn.init.zeros_(layer.bias)


class FeedForward(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))


class Conformer(nn.Module):
    """A block: half a feed-forward layer, attention, a gated depthwise convolution, the other half."""

    def __init__(self, width=64, heads=4, kernel=15):
        super().__init__()
        self.first, self.last = FeedForward(width), FeedForward(width)
        self.before_attention = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.before_convolution = nn.LayerNorm(width)
        self.convolution = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1), nn.GLU(1), nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
            nn.BatchNorm1d(width), nn.SiLU(), nn.Conv1d(width, width, 1))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        y = self.before_attention(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.convolution(self.before_convolution(x).transpose(1, 2)).transpose(1, 2)
        return self.norm(x + 0.5 * self.last(x))


class TextClassifier(nn.Module):
    """Embedded words and their places, a transformer's layer, the mean."""

    def __init__(self, words=1000, length=32, width=64, classes=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, activation="gelu")
        self.head = nn.Linear(width, classes)
        self.register_buffer("order", torch.arange(length))

    def forward(self, tokens):
        return self.head(self.layer(self.words(tokens) + self.places(self.order)).mean(1))


def image(size):
    """Smooth, as photographs are: of noise every deep layer sees the same mean, and its batch norm but noise."""
    def make():
        coarse = F.interpolate(torch.randn(1, 3, 4, 4), (size, size), mode="bicubic") * (0.5 + torch.rand(1))
        fine = F.interpolate(torch.randn(1, 3, size // 4, size // 4), (size, size), mode="bilinear")
        return (coarse + 0.4 * fine + 0.05 * torch.randn(1, 3, size, size)).clamp(-3, 3)
    return make


def vision(name, size, **options):
    return lambda: (getattr(torchvision.models, name)(weights=None, **options), image(size))


def segmentation(name, size, **options):
    def make():
        network = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, **options)
        return Outputs(network, lambda y: y["out"]), image(size)
    return make


def small_maxvit():
    from torchvision.models.maxvit import MaxVit
    return MaxVit((64, 64), 64, 2, [64, 128, 256, 512], [2, 2, 5, 2], 32, 0.2), image(64)


def small_vit():
    network = torchvision.models.vit_b_16(weights=None, image_size=32)
    nn.init.normal_(network.heads.head.weight, std=0.05)  # which are zeros before training
    return network, image(32)


def ssdlite():
    detector = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
    return SsdHeads(detector), image(128)


NETWORKS = {
    "text_classifier": lambda: (TextClassifier(), lambda: torch.randint(0, 1000, (1, 32))),
    "conformer_block": lambda: (Conformer(), lambda: torch.randn(1, 48, 64)),
    "yolo_heads": lambda: (Yolo(), image(64)),
    "ssdlite_heads": ssdlite,
    "lraspp_mobilenet_v3_large": segmentation("lraspp_mobilenet_v3_large", 64),
    "shufflenet_v2_x1_0": vision("shufflenet_v2_x1_0", 64),
    "squeezenet1_1": vision("squeezenet1_1", 64),
    "mnasnet1_0": vision("mnasnet1_0", 64),
    "mobilenet_v2": vision("mobilenet_v2", 64),
    "mobilenet_v3_small": vision("mobilenet_v3_small", 64),
    "mobilenet_v3_large": vision("mobilenet_v3_large", 64),
    "regnet_x_400mf": vision("regnet_x_400mf", 64),
    "regnet_y_400mf": vision("regnet_y_400mf", 64),
    "efficientnet_b0": vision("efficientnet_b0", 64),
    "densenet121": vision("densenet121", 64),
    "googlenet": vision("googlenet", 64, aux_logits=False, init_weights=False),
    "resnet18": vision("resnet18", 64),
    "efficientnet_v2_s": vision("efficientnet_v2_s", 64),
    "inception_v3": vision("inception_v3", 75, aux_logits=False, init_weights=False),
    "resnet50": vision("resnet50", 64),
    "resnext50_32x4d": vision("resnext50_32x4d", 64),
    "wide_resnet50_2": vision("wide_resnet50_2", 64),
    "wav2letter": lambda: (Wav2Letter(), lambda: torch.randn(1, 39, 96)),
    "swin_t": vision("swin_t", 64),
    "swin_v2_t": vision("swin_v2_t", 64),
    "convnext_tiny": vision("convnext_tiny", 64),
    "maxvit_t, windows of 2": small_maxvit,
    "vit_b_16": small_vit,
    "fcn_resnet50": segmentation("fcn_resnet50", 64),
    "deeplabv3_mobilenet_v3_large": segmentation("deeplabv3_mobilenet_v3_large", 64),
    "vgg11": vision("vgg11", 32),
    "alexnet": vision("alexnet", 64),
}


def as_tuple(y):
    return tuple(y) if isinstance(y, (tuple, list)) else (y,)


def to_unit_power(norm, inputs):
    """With random weights, batch norms that remove means leave nothing but noise of a network."""
    norm.running_mean.zero_()
    norm.running_var.copy_(inputs[0].square().mean([d for d in range(inputs[0].dim()) if d != 1]))


def export(stem, make):
    """Writes model, samples and what PyTorch computes of them, once."""
    if pathlib.Path(f"{stem}.expected.npz").exists():
        return
    torch.manual_seed(0)
    network, sample = make()
    samples = [sample() for _ in range(CALIBRATION + SAMPLES)]
    network.eval()
    with torch.no_grad():
        hooks = [m.register_forward_pre_hook(to_unit_power) for m in network.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
        network(torch.cat(samples))
        for hook in hooks:
            hook.remove()
        expected = [as_tuple(network(x)) for x in samples[CALIBRATION:]]
        torch.export.save(torch.export.export(network, (samples[0],)), f"{stem}.pt2")
    np.savez(f"{stem}.calibration.npz", x=torch.cat(samples[:CALIBRATION]).numpy())
    np.savez(f"{stem}.samples.npz", x=torch.cat(samples[CALIBRATION:]).numpy())
    np.savez(f"{stem}.expected.npz", **{f"y{k}": np.concatenate([e[k].numpy() for e in expected]) for k in range(len(expected[0]))})


def execute(program, stem, target, index, samples, outputs, seconds):
    """(outputs, instructions or None) of one sample."""
    np.save(f"{stem}.in.npy", samples[index:index + 1])
    paths = [f"{stem}.{target}{k}.npy" for k in range(outputs)]
    done = subprocess.run([program, "run", f"{stem}.pte", f"--target={target}", "--input", f"{stem}.in.npy", "--json",
                           f"--timeout={seconds}",
                           *(argument for path in paths for argument in ("--output", path))],
                          capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise RuntimeError(problem(done))
    said = json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}
    return [np.load(path) for path in paths], said


def problem(done):
    lines = (done.stderr or done.stdout).strip().splitlines()
    return f"exit {done.returncode}: " + next((line for line in lines if "error" in line), " ".join(lines[:1]))


def sqnr(expected, actual):
    """Of what varies with the input, as `cormorant evaluate` has it."""
    noise = float(np.square(actual.astype(np.float64) - expected).sum())
    signal = float(np.square(expected.astype(np.float64) - expected.mean(0, dtype=np.float64)).sum())
    return float("inf") if noise == 0 else 10 * np.log10(signal / noise)


def float_error(program, stem, samples, expected, seconds):
    """How far the network in float is from PyTorch, relative to the largest output; a text where it does not run."""
    done = subprocess.run([program, "compile", f"{stem}.pt2", "--target=cortex-m55", "--no-link", "-o", f"{stem}.float.pte"],
                          capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        return problem(done)
    here = execute(program, f"{stem}.float", "host", 0, samples, len(expected.files), seconds)[0]
    return max(float(np.abs(y - expected[f"y{k}"][:1]).max() / np.abs(expected[f"y{k}"][:1]).max()) for k, y in enumerate(here))


def sensitivity(stem, samples, expected):
    """SQNR of the network in float whose input is rounded to 8 bits: what the network makes of a small error. None for
    inputs that are not numbers."""
    if samples.dtype.kind != "f":
        return None
    network = torch.export.load(f"{stem}.pt2").module()
    low, high = samples.min(), samples.max()
    rounded = torch.from_numpy(np.round((samples - low) * (255 / (high - low))) * ((high - low) / 255) + low)
    with torch.no_grad():
        outputs = [as_tuple(network(rounded[i:i + 1])) for i in range(len(rounded))]
    return min(sqnr(expected[f"y{k}"], np.concatenate([y[k].numpy() for y in outputs])) for k in range(len(expected.files)))


def measure(program, stem, make, seconds):
    """A row of the table, and whether it is as it should be."""
    export(stem, make)
    samples = np.load(f"{stem}.samples.npz")["x"]
    expected = np.load(f"{stem}.expected.npz")
    apart = float_error(program, stem, samples, expected, seconds)
    if isinstance(apart, str) or not apart <= TOLERANCE:
        return {"problem": f"in float: {apart}"}, False
    done = subprocess.run([program, "compile", f"{stem}.pt2", "-q", "--calibrate", f"{stem}.calibration.npz", "--target=cortex-m55",
                           "--no-link", "--json", "-o", f"{stem}.pte"], capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        return {"problem": problem(done)}, False
    facts = json.loads(done.stdout)
    total, in_float = sum(facts["operators"].values()), len(facts["float_operators"])
    row = {"apart": apart, "int8": total - in_float, "float": in_float, "arena": sum(facts["arena_bytes"].values()), "model": facts["model_bytes"]}
    here = [execute(program, stem, "host", i, samples, len(expected.files), seconds)[0] for i in range(len(samples))]
    row["sqnr"] = min(sqnr(expected[f"y{k}"], np.concatenate([y[k] for y in here])) for k in range(len(expected.files)))
    row["input8"] = sensitivity(stem, samples, expected)
    good = True
    try:
        there, said = execute(program, stem, "cortex-m55", 0, samples, len(expected.files), seconds)
        row["instructions"] = said.get("instructions", {}).get("execute") if isinstance(said.get("instructions"), dict) else said.get("instructions")
        if any(a.tobytes() != b.tobytes() for a, b in zip(here[0], there)):
            row["problem"], good = "other bits on the board", False
    except RuntimeError as refusal:
        row["board"] = str(refusal)
        good = good and any(part in str(refusal) for part in ("more than", "does not fit", "has room for"))
    return row, good


def line(name, row):
    """A row of the table in docs/networks.md."""
    if "sqnr" not in row:
        return f"| {name} | {row['shape']} | {row['problem']} | | | | | | |"
    input8 = "–" if row["input8"] is None else f"{row['input8']:.1f}"
    count = f"{row['instructions']:,}" if row.get("instructions") else "does not fit"
    return (f"| {name} | {row['shape']} | {row['int8']} | {row['float']} | {row['sqnr']:.1f} | {input8} | {row['arena']:,} | {row['model']:,} | {count} |"
            + (f" {row['problem']}" if "problem" in row else ""))


def write_to(page, name, row):
    """Replaces the network's row, or adds it, in the order of NETWORKS."""
    text = page.read_text()
    before, table, after = re.fullmatch(r"(.*\n\| network [^\n]*\n\|-[^\n]*\n)((?:\|[^\n]*\n)*)(.*)", text, re.DOTALL).groups()
    rows = {each.split("|")[1].strip(): each for each in table.splitlines()}
    rows[name] = row
    page.write_text(before + "".join(rows[each] + "\n" for each in NETWORKS if each in rows) + after)


def main(given):
    warnings.simplefilter("ignore")
    folder = pathlib.Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    all_good = True
    for name in given.names or NETWORKS:
        stem = str(folder / name.split(",")[0])
        try:
            if given.export:
                export(stem, NETWORKS[name])
                continue
            row, good = measure(given.program, stem, NETWORKS[name], given.seconds)
        except subprocess.TimeoutExpired as late:
            row, good = {"problem": f"not within {late.timeout} s: {' '.join(map(str, late.cmd[1:2]))}"}, False
        except Exception as error:
            row, good = {"problem": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}, False
        all_good = all_good and good
        samples = pathlib.Path(f"{stem}.samples.npz")
        row["shape"] = " × ".join(map(str, np.load(samples)["x"].shape[1:])) if samples.exists() else ""
        text = line(name, row)
        print(text, f"float: {row.get('apart')}", row.get("board", "")[:160], "" if good else "NOT GOOD", flush=True)
        if given.page:
            write_to(pathlib.Path(given.page), name, text)
    return 0 if all_good else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--page")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--seconds", type=int, default=1200)
    parser.add_argument("names", nargs="*")
    sys.exit(main(parser.parse_intermixed_args()))
