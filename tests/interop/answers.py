# SPDX-License-Identifier: Apache-2.0
"""What the interoperability run's checks share: our program, how far results are apart, and the table of answers."""
import collections
import json
import subprocess
import zipfile

import numpy as np

ALLOWED_STEPS = 1.001


class Refused(Exception):
    """The program says no: its first line, as it is a legitimate answer in some places."""


class Run:
    def __init__(self, program, folder, has_kernels):
        self.program, self.folder, self.has_kernels = program, folder, has_kernels
        self.rows, self.failures = [], 0

    def cormorant(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise Refused((done.stderr or done.stdout).strip().splitlines()[0])
        return done.stdout

    def row(self, model, what, where, answer, good=True):
        self.rows.append((model, what, where, answer, good))
        self.failures += not good
        print(f"{model:<18} {what:<26} {where:<19} {answer}{'' if good else '   <-- not as it should be'}", flush=True)

    def outputs(self, pte, target, inputs, count):
        arguments = ["run", pte, f"--target={target}"]
        for i, x in enumerate(inputs):
            path = self.folder / f"in{i}.npy"
            np.save(path, x.contiguous().numpy())
            arguments += ["--input", path]
        paths = [self.folder / f"out{i}.npy" for i in range(count)]
        for path in paths:
            arguments += ["--output", path]
        self.cormorant(*arguments)
        return [np.load(path) for path in paths]

    def compare(self, model, what, pte, target, inputs, expected, steps, may_refuse=False, allowed=ALLOWED_STEPS):
        """Runs a program of ours or theirs here, beside what upstream computes."""
        try:
            actual = self.outputs(pte, target, inputs, len(expected))
        except Refused as refusal:
            return self.row(model, what, target, f"refused: {refusal}", may_refuse)
        answer, worst = distance(actual, expected, steps)
        self.row(model, what, f"executed on {target.removeprefix('cortex-')}", answer, worst <= allowed)

    def summary(self):
        """How many answers of each kind there are per place: what was executed, and what only loaded."""
        counts = collections.Counter((what.split(":")[0], where) for _, what, where, _, good in self.rows if good)
        lines = [f"{count:4} {what:<10} {where}" for (what, where), count in sorted(counts.items())]
        return "\n".join(lines + [f"{len(self.rows)} answers, {self.failures} not as they should be"])


def distance(actual, expected, steps):
    """In words and in steps; steps of 0 means a float output, compared at 1e-5 of its largest value."""
    worst = 0.0
    for a, e, step in zip(actual, expected, steps):
        e = e.detach().contiguous().numpy() if hasattr(e, "detach") else e
        if a.shape != e.shape:
            return f"shape {a.shape} instead of {e.shape}", float("inf")
        if not np.array_equal(a, e):
            apart = float(np.abs(a.astype(np.float64) - e).max())
            worst = max(worst, apart / (step or 1e-5 * max(float(np.abs(e).max()), 1e-30)), 1e-9)
    return ("bits" if worst == 0 else f"{worst:.2f} steps" if all(steps) else f"{worst:.3f} · 1e-5"), worst


def output_steps(pt2):
    """The scale of each output of a quantized .pt2, 0 for one that is not quantized."""
    with zipfile.ZipFile(pt2) as archive:
        name = next(n for n in archive.namelist() if n.endswith("models/model.json"))
        graph = json.loads(archive.read(name))["graph_module"]["graph"]
    makers = {o["as_tensor"]["name"]: node for node in graph["nodes"] for o in node["outputs"] if "as_tensor" in o}

    def step(output):
        node = makers.get(output.get("as_tensor", {}).get("name"))
        if node is None or "dequantize_per_tensor" not in node["target"]:
            return 0
        return next(i["arg"]["as_float"] for i in node["inputs"] if i["name"] == "scale")

    return [step(output) for output in graph["outputs"]]
