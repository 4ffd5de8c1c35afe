# SPDX-License-Identifier: Apache-2.0
"""The log-mel front end equals its Python twin to the bit, on the host under sanitizers and on a Cortex-M55, M4 and M0, and
both are near to what floating point gives.

usage: log_mel_test.py SOURCE_DIR
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy as np

WARNINGS = "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror".split()
NOISE = 1.5  # of the FFT, in steps
PLACES = {  # how to compile, and where it runs; the micro:bit has a real M0, which faults on unaligned accesses
    "host": ("clang-19 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all", None),
    "m55": ("arm-none-eabi-gcc -O2 -mcpu=cortex-m55 -mfloat-abi=hard", "mps3-an547"),
    "m4": ("arm-none-eabi-gcc -O2 -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", "mps2-an386"),
    "m0": ("arm-none-eabi-gcc -O2 -mcpu=cortex-m0", "microbit"),
    "m0-clang": ("clang-19 --target=arm-none-eabi -mcpu=cortex-m0 -Os", None),  # compiled only
}
# What console.h has, for the host.
HOST_CONSOLE = """#include <stdio.h>
#include "console.h"
void console_print(const char* text) { fputs(text, stdout); }
void console_print_number(int32_t number) { printf("%d", (int)number); }
"""


def load_twin(root):
    spec = importlib.util.spec_from_file_location("log_mel", f"{root}/python/cormorant/log_mel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_sounds():
    rng = np.random.default_rng(7)
    t = np.arange(1600) / 16000
    as_samples = lambda x: np.clip(np.round(x), -32768, 32767).astype(np.int16)
    return {
        "chirp": as_samples(20000 * np.sin(2 * np.pi * (300 * t + 20000 * t * t))),
        "quiet tone": as_samples(3 * np.sin(2 * np.pi * 1000 * t)),
        "noise": as_samples(rng.normal(0, 6000, 1600)),
        "extremes": rng.choice(np.array([-32768, 32767], np.int16), 1600),
        "lowest": np.full(1600, -32768, np.int16),
        "minus one": np.full(1600, -1, np.int16),
        "silence, then a click": np.concatenate([np.zeros(1500), [32767], np.zeros(99)]).astype(np.int16),
        "alternating": np.tile(np.array([-32768, 32767], np.int16), 800),
    }


def in_floating_point(front_end, samples):
    """Energies by numpy's FFT, with filters that come from the definition instead of the tables; the power of all
    bins that a filter touches; what the energy would be if each bin were one step of fixed point."""
    window = np.sin(np.pi * (np.arange(front_end.window) + 0.5) / front_end.window) ** 2
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(float), front_end.window)[::front_end.hop]
    power = np.abs(np.fft.rfft(frames * window, front_end.fft)) ** 2
    mel = lambda hertz: 2595 * np.log10(1 + hertz / 700)
    points = np.linspace(mel(20), mel(front_end.rate / 2), front_end.mels + 2)
    points = 700 * (10 ** (points / 2595) - 1)
    hertz = np.arange(front_end.fft // 2) * front_end.rate / front_end.fft
    rise = (hertz - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
    fall = (points[2:, None] - hertz) / (points[2:] - points[1:-1])[:, None]
    triangles = np.clip(np.minimum(rise, fall), 0, None)
    # The last bit of a spectrum's value: frames are scaled to 14 bits, and the FFT divides by its length.
    bits = np.ceil(np.log2(np.abs(frames).max(axis=1) + 1)) - 14 + np.log2(front_end.fft / 2)
    return power[:, :-1] @ triangles.T, power[:, :-1] @ (triangles > 0).T, 4 ** bits[:, None] * triangles.sum(axis=1)


def check_accuracy(front_end, name, samples):
    exact, touched, steps = in_floating_point(front_end, samples)
    mine = front_end(samples)
    assert mine.shape == exact.shape and len(mine) > 3, (mine.shape, exact.shape)
    # Half a hundredth for the logarithm, a step of each weight (1/256), and the FFT's own noise: about a step.
    noise = NOISE * steps
    allowed = 0.005 * exact + touched / 256 + noise + 2 * np.sqrt(exact * noise) + 2
    wrong = np.abs(2.0 ** (mine / 256) - exact) / allowed
    assert wrong.max() < 1, f"{name}: {wrong.max():.2f} times as far from floating point as it may be"


def write_sounds(path, cases):
    with open(path, "w") as file:
        for i, (_, samples) in enumerate(cases):
            file.write(f"static const int16_t samples_{i}[] = {{{', '.join(map(str, samples))}}};\n")
        file.write("static const struct sound { const cormorant_log_mel* front_end; const int16_t* samples; size_t count; }"
                   " sounds[] = {\n")
        for i, (front_end, samples) in enumerate(cases):
            file.write(f"  {{&{front_end}, samples_{i}, {len(samples)}}},\n")
        file.write("};\n")


def expected_text(front_ends, cases):
    lines = []
    for name, samples in cases:
        features = front_ends[name](samples)
        factor = int(np.float32(256) / np.float32(0.18) + np.float32(0.5))
        stored = np.clip(((features.astype(np.int64) * factor + 32768) >> 16) - 128, -128, 127)
        for what in ("frame", "pushed"):
            lines += [f"{what} {' '.join(map(str, row))} | {' '.join(map(str, small))}"
                      for row, small in zip(features, stored)]
    return "\n".join(lines) + "\n"


def build_and_run(root, work, place):
    compiler, machine = PLACES[place]
    board = f"{root}/examples/board"
    sources = [f"{root}/tests/audio/main.c", f"{root}/audio/log_mel.c", f"{work}/large.c", f"{work}/small.c"]
    flags = [*WARNINGS, f"-I{root}/include", f"-I{board}", f"-I{work}"]
    elf = f"{work}/{place}"
    if place == "m0-clang":
        subprocess.run([*compiler.split(), *WARNINGS, "-ffreestanding", f"-I{root}/include", "-c", sources[1], "-o", elf],
                       check=True)
        return None
    if machine is None:
        with open(f"{work}/console.c", "w") as file:
            file.write(HOST_CONSOLE)
        sources.append(f"{work}/console.c")
    else:
        script = "mps3-an547.ld" if machine == "mps3-an547" else "mps2.ld"
        sources += [f"{board}/console.c", f"{board}/startup.S"]
        flags += ["-nostartfiles", "-Wl,--gc-sections", f"-T{board}/{script}"]
    subprocess.run([*compiler.split(), *flags, *sources, "-o", elf], check=True)
    command = [elf] if machine is None else [
        "qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel", elf]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, f"{place} ended with {run.returncode}: {run.stderr}"
    return run.stdout + run.stderr


def check_refusals(module):
    for wrong in ({"fft": 500}, {"window": 513}, {"window": 600}, {"hop": 0}, {"mels": 0}, {"mels": 200}, {"high": 9000},
                  {"mels": 2, "fft": 4096}):
        try:
            module.LogMel(**wrong)
        except ValueError as error:
            assert any(word in str(error) for word in wrong) or "filter" in str(error), error
        else:
            raise AssertionError(f"{wrong} was not refused")


def main():
    root = os.path.abspath(sys.argv[1])
    module = load_twin(root)
    front_ends = {"large": module.LogMel(), "small": module.LogMel(rate=8000, window=100, hop=33, fft=128, mels=10)}
    sounds = make_sounds()
    for name, samples in sounds.items():
        for front_end in front_ends.values():
            check_accuracy(front_end, name, samples)
    check_refusals(module)
    assert len(module.LogMel()(np.zeros(479, np.int16))) == 0

    cases = [("large", samples) for samples in sounds.values()] + [("small", sounds["chirp"][:300])]
    expected = expected_text(front_ends, cases)
    with tempfile.TemporaryDirectory() as work:
        for name, size in (("large", []), ("small", "--rate=8000 --window=100 --hop=33 --fft=128 --mels=10".split())):
            subprocess.run([sys.executable, f"{root}/python/cormorant/log_mel.py", f"--name={name}", f"--folder={work}", *size],
                           check=True)
        write_sounds(f"{work}/sounds.h", cases)
        for place in PLACES:
            said = build_and_run(root, work, place)
            if said is None:
                continue
            for number, (got, wanted) in enumerate(zip(said.splitlines(), expected.splitlines())):
                assert got == wanted, f"{place}, line {number}:\n{got}\ninstead of\n{wanted}"
            assert said == expected, f"{place} printed {len(said)} characters instead of {len(expected)}"
    print(f"{len(expected.splitlines())} frames on {len(PLACES) - 1} places")


main()
