# SPDX-License-Identifier: Apache-2.0
import numpy as np

import cormorant

# A file written by torch.export.save, or the result of torch.export.export.
samples = np.load("zoo/digits_calibration.npz")["x"]
program = cormorant.compile("zoo/digits.pt2", target="cortex-m55", calibration=samples)
print(program)
print("flash", program.flash_bytes, "RAM", program.ram_bytes)

# The same bits on the host and on the emulated board.
test = np.load("zoo/digits_test.npz")
here = program.run(test["x"][:1])
there = program.run(test["x"][:1], target="cortex-m55")
assert (here == there).all()
print("answer", here.argmax(), "label", test["y"][0])

# Accuracy compared with the float model, and the cost of every layer.
print(program.evaluate(test["x"][:100], test["y"][:100]))
measured = program.measure(test["x"][:1], clock="160MHz")
print(measured.instructions, "instructions,", round(measured.milliseconds, 2), "ms")

# For people, and for firmware.
program.report().save("build/digits.html")
program.save("build/digits.pte")
