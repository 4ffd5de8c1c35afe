#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the rounding of weights alone costs: a quantized network's weights and biases with float activations.

usage: float_activations.py QUANTIZED.txt OUT.txt

QUANTIZED.txt is the text of the graph after the stage "quantize" (compile --intermediates DIR). In OUT.txt, which compile
takes as a model, its constants are the numbers that they represent, and conversions are gone. docs/accuracy.md compares
8w16a with it.
"""
import os
import re
import sys

import numpy as np

DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32}
QUANT = r"quant\((?:axis (\d+), )?(?:range -?\d+ -?\d+, )?\[([^\]]*)\], \[([^\]]*)\]\)"
CONVERSION = r"%(\S+) : .* = (?:quantized_decomposed\.\w+|cormorant\.requantize)\((?:input|self)=%([^,)]+)"


def real_type(text):
    """Types of quantized tensors, wherever they are in a text, become those of floats."""
    return re.sub(r"\bi(?:8|16|32)(\[[\d,]*\](?: order\([\d,]*\))?) " + QUANT, r"f32\1", text)


def real_values(dtype, shape, quant, stored, data):
    place = re.match(r"data (\d+) (\d+)", stored)
    if place:
        first, size = int(place[1]), int(place[2])
        values = np.frombuffer(data[first:first + size], dtype=DTYPES[dtype]).astype(np.float64)
    else:
        values = np.array([float(v) for v in stored[1:-1].split(",")])
    scales, zeros = (np.array([float(v) for v in quant[k].split(",")]) for k in (2, 3))
    if quant[1] is not None:
        along = [-1 if dim == int(quant[1]) else 1 for dim in range(len(shape))]
        scales, zeros = scales.reshape(along), zeros.reshape(along)
    return ((values.reshape(shape) - zeros) * scales).astype(np.float32)


def main(source, target):
    data = b""
    if os.path.exists(source + ".data"):
        with open(source + ".data", "rb") as file:
            data = file.read()
    with open(source) as file:
        lines = file.read().split("\n")
    constants, result, same = bytearray(data), [], {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        constant = re.match(r"(const|state) (%\S+) : (i\d+)\[([\d,]*)\] (" + QUANT + r") = (.*)$", line)
        if constant:
            shape = [int(size) for size in constant[4].split(",") if size]
            quant = re.match(QUANT, constant[5])
            values = real_values(constant[3], shape, quant, constant[9], data)
            constants.extend(bytes(-len(constants) % 16))
            sizes = ",".join(map(str, shape))
            result.append(f"{constant[1]} {constant[2]} : f32[{sizes}] = data {len(constants)} {values.nbytes}")
            constants.extend(values.tobytes())
            continue
        if not line.startswith("node "):
            result.append(real_type(line))
            continue
        body = []
        while at < len(lines) and lines[at].startswith("  "):
            body.append(lines[at])
            at += 1
        conversion = re.match(CONVERSION, " ".join(part.strip() for part in body))
        if conversion:
            same[conversion[1]] = conversion[2]
        else:
            result += [line] + [real_type(part) for part in body]

    def name(match):
        value = match[1]
        while value in same:
            value = same[value]
        return "%" + value

    with open(target, "w") as file:
        file.write(re.sub(r"%([^\s,)}=]+)", name, "\n".join(result)))
    with open(target + ".data", "wb") as file:
        file.write(constants)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
