# SPDX-License-Identifier: Apache-2.0
"""Log-mel features as firmware computes them, to the bit: the twin of include/cormorant/log_mel.h.

    front_end = LogMel(rate=16000, window=480, hop=320, fft=512, mels=40)
    features = front_end(samples)          # int16 [frames, mels] of int16 samples; train on features / 256

As a program it writes the tables for firmware, NAME.c and NAME.h, and needs no more than Python:

    python3 -m cormorant.log_mel --rate=16000 --window=480 --hop=320 --fft=512 --mels=40 --name=features --folder=generated

A feature is 256 * log2(energy of a mel filter); log_mel.h says more.
"""
import argparse
import math
import os
import sys

SAMPLE_BITS, TABLE_BITS, WEIGHT_BITS, FEATURE_BITS = 14, 15, 8, 8
LOG2 = [round(math.log2(1 + i / 32) * 2 ** TABLE_BITS) for i in range(33)]
MOST_BINS_PER_FILTER = 256  # between two mel points: more would overflow the sums of 32 bits


def _mel(hertz):
    return 2595 * math.log10(1 + hertz / 700)


def _hertz(mel):
    return 700 * (10 ** (mel / 2595) - 1)


def _fixed(value):
    return min(round(value * 2 ** TABLE_BITS), 2 ** TABLE_BITS - 1)


class LogMel:
    """Sizes are in samples. Filters are triangles between mel points from low to high (in hertz; default: half the rate)."""

    def __init__(self, rate=16000, window=480, hop=320, fft=512, mels=40, low=20.0, high=None):
        high = rate / 2 if high is None else high
        if fft < 16 or fft > 4096 or fft & (fft - 1):
            raise ValueError(f"fft is {fft}: it must be a power of two from 16 to 4096")
        if window < 2 or window > fft or window % 2:
            raise ValueError(f"window is {window}: it must be even and at most fft, {fft}")
        if hop < 1 or hop > window:
            raise ValueError(f"hop is {hop}: it must be from 1 to window, {window}")
        if mels < 1 or not 0 <= low < high <= rate / 2:
            raise ValueError(f"mels is {mels}, from {low} to {high} Hz: at least one filter, below half the rate, {rate / 2} Hz")
        self.rate, self.window, self.hop, self.fft, self.mels = rate, window, hop, fft, mels
        self.rise = [_fixed(math.sin(math.pi * (i + 0.5) / window) ** 2) for i in range(window // 2)]
        angles = [2 * math.pi * k / fft for k in range(fft // 2)]
        self.twiddles = [(_fixed(math.cos(a)), _fixed(math.sin(a))) for a in angles]
        # In units of bins. The bin at half the rate is left out.
        points = [_hertz(_mel(low) + (_mel(high) - _mel(low)) * i / (mels + 1)) * fft / rate for i in range(mels + 2)]
        self.edges = [min(math.ceil(point), fft // 2) for point in points]
        self.weights = []
        for i in range(mels + 1):
            first, last = self.edges[i], self.edges[i + 1]
            if last - first > MOST_BINS_PER_FILTER:
                raise ValueError(f"mel filter {i} is {last - first} bins wide: use more filters or a smaller fft")
            if i < mels and self.edges[i + 2] == first:
                raise ValueError(f"mel filter {i} falls between two bins of the spectrum: use fewer filters or a larger fft")
            self.weights += [min(int(256 * (k - points[i]) / (points[i + 1] - points[i]) + 0.5), 255)
                             for k in range(first, last)]

    def __call__(self, samples):
        """int16 samples to int16 features [frames, mels]: as many frames as fit."""
        import numpy as np
        samples = np.asarray(samples)
        if samples.dtype != np.int16 or samples.ndim != 1:
            raise ValueError(f"samples are {samples.dtype} {list(samples.shape)}: they must be int16, in one dimension")
        if len(samples) < self.window:
            return np.zeros((0, self.mels), np.int16)
        count = 1 + (len(samples) - self.window) // self.hop
        frames = np.zeros((count, self.window), np.int64)
        for i in range(count):
            frames[i] = samples[i * self.hop:i * self.hop + self.window]
        # The whole array at once; cells are real and imaginary arrays [frames, fft / 2].
        shift = self._window_shift(frames)
        re, im = self._stages(*self._load(frames, shift))
        exponent = shift - TABLE_BITS + (self.fft // 2).bit_length() - 1
        return self._filters(self._powers(re, im), (2 * exponent - WEIGHT_BITS) * 2 ** FEATURE_BITS)

    def _window_shift(self, frames):
        import numpy as np
        loudest = np.where(frames < 0, ~frames, frames).max(axis=1)
        return np.array([TABLE_BITS + int(value).bit_length() - SAMPLE_BITS for value in loudest], np.int64)

    def _load(self, frames, shift):
        import numpy as np
        window = np.array(self.rise + self.rise[::-1], np.int64)
        shift = shift[:, None]
        padded = np.zeros((len(frames), self.fft), np.int64)
        padded[:, :self.window] = (frames * window + (np.int64(1) << (shift - 1))) >> shift
        bits = (self.fft // 2).bit_length() - 1
        order = [int(format(i, f"0{bits}b")[::-1], 2) for i in range(self.fft // 2)]
        return padded[:, 0::2][:, order], padded[:, 1::2][:, order]

    def _stages(self, re, im):
        import numpy as np
        a, b, c, d = (re[:, i::4] + 1j * im[:, i::4] for i in range(4))  # exact: small integers
        sums = np.stack([a + b + c + d, a - b - 1j * (c - d), a + b - c - d, a - b + 1j * (c - d)], axis=2)
        sums = sums.reshape(len(re), -1)
        re, im = (sums.real.astype(np.int64) + 2) >> 2, (sums.imag.astype(np.int64) + 2) >> 2
        twiddles = np.array(self.twiddles, np.int64)
        half = lambda x: (x + (1 << TABLE_BITS)) >> (TABLE_BITS + 1)
        span = 4
        while span < self.fft // 2:
            re, im = (x.reshape(len(x), -1, 2, span) for x in (re, im))
            cosine, sine = twiddles[::self.fft // (2 * span)].T
            ar, ai = re[:, :, 0] << TABLE_BITS, im[:, :, 0] << TABLE_BITS
            br = re[:, :, 1] * cosine + im[:, :, 1] * sine
            bi = im[:, :, 1] * cosine - re[:, :, 1] * sine
            re = np.stack([half(ar + br), half(ar - br)], axis=2).reshape(len(re), -1)
            im = np.stack([half(ai + bi), half(ai - bi)], axis=2).reshape(len(im), -1)
            span *= 2
        return re, im

    def _powers(self, re, im):
        import numpy as np
        count = self.fft // 2
        result = np.zeros_like(re)
        result[:, 0] = (re[:, 0] + im[:, 0]) ** 2
        result[:, count // 2] = re[:, count // 2] ** 2 + im[:, count // 2] ** 2
        low, high = np.arange(1, count // 2), count - np.arange(1, count // 2)
        cosine, sine = np.array(self.twiddles, np.int64)[low].T
        even_r, even_i = re[:, low] + re[:, high], im[:, low] - im[:, high]
        odd_r, odd_i = im[:, low] + im[:, high], re[:, high] - re[:, low]
        scaled = lambda x: (x + (1 << (TABLE_BITS - 1))) >> TABLE_BITS
        turned_r, turned_i = scaled(odd_r * cosine + odd_i * sine), scaled(odd_i * cosine - odd_r * sine)
        result[:, low] = ((even_r + turned_r + 1) >> 1) ** 2 + ((even_i + turned_i + 1) >> 1) ** 2
        result[:, high] = ((even_r - turned_r + 1) >> 1) ** 2 + ((even_i - turned_i + 1) >> 1) ** 2
        return result

    def _filters(self, power, exponent):
        import numpy as np
        features = np.zeros((len(power), self.mels), np.int16)
        weights = np.array(self.weights, np.int64)
        rising = None
        for point in range(self.mels + 1):
            first, last = self.edges[point], self.edges[point + 1]
            part = power[:, first:last]
            weighted = (part * weights[first - self.edges[0]:last - self.edges[0]]).sum(axis=1)
            if point:
                energy = rising + (part.sum(axis=1) << WEIGHT_BITS) - weighted
                features[:, point - 1] = np.where(energy == 0, 0, np.maximum(0, _log2(np.maximum(energy, 1)) + exponent))
            rising = weighted
        return features

    def c_source(self, name):
        """NAME.c, the tables."""
        def array(kind, field, values):
            lines, line = [], " "
            for value in values:
                if len(line) > 110:
                    lines, line = lines + [line], " "
                line += f" {value},"
            return f"static const {kind} {field}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"
        return (f"/* Generated by log_mel.py. */\n#include \"{name}.h\"\n\n"
                + array("int16_t", "rise", self.rise)
                + array("int16_t", "twiddles", [part for pair in self.twiddles for part in pair])
                + array("uint16_t", "edges", self.edges) + array("uint8_t", "weights", self.weights)
                + f"\nconst cormorant_log_mel {name} = {{{self.window}, {self.hop}, {self.fft}, {self.mels}, "
                + "rise, twiddles, edges, weights};\n")

    def c_header(self, name):
        """NAME.h, sizes as constants and the declaration."""
        prefix = name.upper()
        sizes = "".join(f"#define {prefix}_{word.upper()} {getattr(self, word)}\n"
                        for word in ("rate", "window", "hop", "fft", "mels"))
        return (f"/* Generated by log_mel.py. */\n#ifndef {prefix}_LOG_MEL_H\n#define {prefix}_LOG_MEL_H\n\n"
                f"#include \"cormorant/log_mel.h\"\n\n{sizes}\n"
                f"#ifdef __cplusplus\nextern \"C\" {{\n#endif\nextern const cormorant_log_mel {name};\n"
                "#ifdef __cplusplus\n}\n#endif\n\n#endif\n")


def _log2(values):
    import numpy as np
    exponent = np.frexp(values.astype(np.float64))[1].astype(np.int64) - 1  # exact: energies are below 2^53
    mantissa = np.where(exponent > 31, values >> np.maximum(exponent - 31, 0), values << np.maximum(31 - exponent, 0))
    index, rest = mantissa >> 26 & 31, mantissa >> 15 & 2047
    table = np.array(LOG2, np.int64)
    fraction = table[index] + (((table[index + 1] - table[index]) * rest + 1024) >> 11)
    return exponent * 2 ** FEATURE_BITS + ((fraction + 64) >> 7)


def main():
    parser = argparse.ArgumentParser(description="Writes the tables of a log-mel front end for firmware: NAME.c and NAME.h.")
    for word, default in (("rate", 16000), ("window", 480), ("hop", 320), ("fft", 512), ("mels", 40)):
        parser.add_argument(f"--{word}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--low", type=float, default=20.0, help="hertz where the first filter begins, default 20")
    parser.add_argument("--high", type=float, help="hertz where the last filter ends, default half the rate")
    parser.add_argument("--name", required=True, help="of the files and of what they declare")
    parser.add_argument("--folder", default=".", help="where the files go")
    options = vars(parser.parse_args())
    name, folder = options.pop("name"), options.pop("folder")
    if not (name.isascii() and name.isidentifier()):
        parser.error(f"--name is '{name}', which is not a valid C identifier")
    try:
        front_end = LogMel(**options)
    except ValueError as error:
        parser.error(str(error))
    os.makedirs(folder, exist_ok=True)
    for ending, text in (("c", front_end.c_source(name)), ("h", front_end.c_header(name))):
        with open(os.path.join(folder, f"{name}.{ending}"), "w") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
