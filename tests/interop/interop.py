#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pushes models through ExecuTorch's compiler and ours, and their files through both runtimes; prints a table.

usage: interop.py CORMORANT WORK_DIR [--kernels LIBRARY] [MODEL...]

Four questions per model, answered with "bits" (equal to the last bit), "N steps" (of the output's quantization) or what
went wrong; the exit status is 1 where an answer is not as good as it should be:
  model    a PT2E-quantized .pt2 through our compiler, on the host and an emulated M55, beside upstream's semantics
  theirs   upstream's .pte for M55, M4 and M0, in both of its layouts, in our runtime on the host and on those boards,
           beside its Python semantics and, for M0, its kernels
  ours     our .pte for upstream's runtime: read by its deserializer, accepted by its verifier, scratch as CMSIS-NN
           wants it. Float programs are executed there; so are quantized ones for M0, beside our own runtime, with the
           kernels of host_kernels.sh (--kernels), which are CMSIS-NN's plain C. Those for other CPUs are only loaded.
  bundle   .bpte both ways
"""
import argparse
import json
import pathlib
import subprocess
import sys
import traceback
import zipfile

import numpy as np
import torch

import networks
import upstream

CPUS = ("cortex-m55", "cortex-m4", "cortex-m0")
ZOO = ("kws", "vww", "digits", "fashion", "ad")
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
        print(f"{model:<18} {what:<30} {where:<22} {answer}{'' if good else '   <-- not as it should be'}", flush=True)

    # ---- running ----
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

    def compare(self, model, what, pte, target, inputs, expected, steps, may_refuse=False):
        """Runs a program of ours or theirs here, beside what upstream computes."""
        try:
            actual = self.outputs(pte, target, inputs, len(expected))
        except Refused as refusal:
            missing = portable_operators(str(refusal))
            answer = f"not yet, needs {', '.join(missing)}" if missing else f"refused: {refusal}"
            return self.row(model, what, target, answer, may_refuse or bool(missing))
        answer, worst = distance(actual, expected, steps)
        self.row(model, what, f"executed on {target.removeprefix('cortex-')}", answer, worst <= ALLOWED_STEPS)


def portable_operators(refusal):
    """The operators that a program lacks here, if it lacks nothing but portable ones (float, or 64-bit integers)."""
    if "does not have: " not in refusal and "no kernel for " not in refusal:
        return []
    missing = refusal.rsplit(": ", 1)[1].split(", ")
    return missing if all(name.startswith("aten::") for name in missing) else []


def awaits_float(refusal):
    """Whether all that is missing are float operators, for which a quantizer has left room in many models."""
    return "stay in float" in refusal or bool(portable_operators(refusal))


def distance(actual, expected, steps):
    """In words and in steps; steps of 0 means a float output, compared at 1e-5 of its largest value."""
    worst = 0.0
    for a, e, step in zip(actual, expected, steps):
        e = e.detach().contiguous().numpy()
        if a.shape != e.shape:
            return f"shape {a.shape} instead of {e.shape}", float("inf")
        if not np.array_equal(a, e):
            apart = float(np.abs(a.astype(np.float64) - e).max())
            worst = max(worst, apart / (step or 1e-5 * max(float(np.abs(e).max()), 1e-30)), 1e-9)
    return ("bits" if worst == 0 else f"{worst:.2f} steps" if all(steps) else f"{worst:.2f} · 1e-5"), worst


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


def check_model(run, name, pt2, inputs, expected, steps):
    pte = run.folder / f"{name}.ours.pte"
    try:
        run.cormorant("compile", pt2, "--target=cortex-m55", "-o", pte)
    except Refused as refusal:
        return run.row(name, "model: .pt2", "our compiler", f"refused: {refusal}", awaits_float(str(refusal)))
    for target in ("host", "cortex-m55"):
        run.compare(name, "model: .pt2", pte, target, inputs, expected, steps)


def compile_theirs(run, name, exported, inputs, explicit):
    """Upstream's program per CPU; files that can become fixtures are written beside each other."""
    programs = {}
    for cpu in CPUS:
        theirs = upstream.compiled(exported, inputs, cpu, explicit)
        pte = run.folder / f"{name}.{'nhwc' if explicit else 'dim_order'}.{cpu}.pte"
        pte.write_bytes(theirs.pte)
        for i, x in enumerate(inputs):
            np.save(pte.with_suffix(f".in{i}.npy"), x.numpy())
        for i, y in enumerate(theirs.outputs):
            np.save(pte.with_suffix(f".out{i}.npy"), y.detach().contiguous().numpy())
        programs[cpu] = (pte, theirs)
    return programs


def check_theirs(run, name, exported, inputs, steps, explicit):
    what = f"theirs: {'_nhwc' if explicit else 'dim order'}"
    try:
        programs = compile_theirs(run, name, exported, inputs, explicit)
    except Exception as error:  # its compiler refuses some models for itself
        run.row(name, what, "upstream's compiler", f"refused: {str(error).splitlines()[0][:90]}")
        return None, False
    first = programs[CPUS[0]]
    # Its kernels and its Python semantics differ now and then; and some of its programs its runtime refuses itself.
    known_bad = False
    if run.has_kernels and not explicit:
        pte, theirs = programs["cortex-m0"]
        outputs = upstream.execute_apart(theirs.pte, [upstream.channels_last(x) for x in inputs])
        known_bad = outputs is None
        answer, apart = ("refused", 0) if known_bad else distance(outputs, theirs.outputs, steps)
        run.row(name, what, "executed upstream", f"{answer}, beside its Python semantics")
        if not known_bad and apart <= ALLOWED_STEPS:  # else it contradicts itself
            run.compare(name, f"{what}, its kernels", pte, "host", inputs, [torch.from_numpy(y) for y in outputs], steps)
    run.compare(name, what, first[0], "host", inputs, first[1].outputs, steps, known_bad)
    for cpu, (pte, theirs) in programs.items():
        run.compare(name, what, pte, cpu, inputs, theirs.outputs, steps, known_bad)
    return first, not known_bad


def check_ours(run, name, pt2, inputs, expected, steps, quantized):
    for cpu in CPUS if quantized else CPUS[:1]:
        pte = run.folder / f"{name}.executorch.{cpu}.pte"
        what = f"ours: for {cpu.removeprefix('cortex-')}"
        try:
            run.cormorant("compile", pt2, f"--target={cpu}", "--runtime=executorch", "-o", pte)
        except Refused as refusal:
            # What ExecuTorch's kernels cannot do is refused, with a reason.
            expected_refusal = "ExecuTorch" in str(refusal) or awaits_float(str(refusal)) or not quantized
            run.row(name, what, "our compiler", f"refused: {refusal}", expected_refusal)
            continue
        data = pte.read_bytes()
        sizes = upstream.scratch_sizes(data, cpu)
        wrong = [f"{op} {have} instead of {want}" for op, have, want in sizes if have != want]
        _, meta = upstream.load(data)
        answer = f"verified, {meta.num_inputs()} inputs, scratch of {len(sizes)} operators "
        run.row(name, what, "loaded upstream", answer + ("equal" if not wrong else f"differs: {wrong}"), not wrong)
        if not quantized:
            answer, worst = distance([y.numpy() for y in upstream.execute(data, inputs)], expected, [0] * len(expected))
            run.row(name, what, "executed upstream", answer, worst <= 1)
        elif cpu == "cortex-m0" and run.has_kernels:
            here = [torch.from_numpy(y) for y in run.outputs(pte, "host", inputs, len(expected))]
            there = upstream.execute_apart(data, inputs)
            answer = "refused" if there is None else distance(there, here, steps)[0]
            run.row(name, what, "executed upstream", f"{answer}, beside our runtime", answer == "bits")


def check_bundles(run, name, theirs, pt2, inputs):
    pte, compiled = theirs
    bundle = run.folder / f"{name}.theirs.bpte"
    bundle.write_bytes(upstream.bundled(str(pte), [upstream.channels_last(x) for x in inputs], compiled.outputs))
    try:
        verdict = run.cormorant("run", bundle, "--target=host").splitlines()[-1]
    except Refused as refusal:
        verdict = str(refusal)
    run.row(name, "bundle: theirs", "executed on host", verdict,
            verdict == "Test_result: PASS" or awaits_float(verdict))
    ours = run.folder / f"{name}.ours.bpte"
    try:
        run.cormorant("compile", pt2, "--target=cortex-m55", "--bundleio", "-o", ours)
    except Refused as refusal:
        return run.row(name, "bundle: ours", "our compiler", f"refused: {refusal}", awaits_float(str(refusal)))
    program, cases = upstream.read_bundle(ours.read_bytes())
    upstream.load(program)
    run.row(name, "bundle: ours", "loaded upstream", f"program verified, {cases} test case", cases == 1)


def check_zoo(run, name):
    """A float model that we quantize ourselves, in upstream's runtime."""
    zoo = pathlib.Path(__file__).resolve().parents[2] / "zoo"
    inputs = [torch.from_numpy(np.load(zoo / f"{name}_expected.npz")["x"][:1].astype(np.float32))]
    pte = run.folder / f"zoo_{name}.pte"
    run.cormorant("compile", zoo / f"{name}.pt2", "--calibrate", zoo / f"{name}_calibration.npz", "--target=cortex-m0",
                  "--runtime=executorch", "-o", pte)
    data = pte.read_bytes()
    sizes = upstream.scratch_sizes(data, "cortex-m0")
    equal = all(have == want for _, have, want in sizes)
    run.row(f"zoo/{name}", "ours: for m0", "loaded upstream",
            f"scratch of {len(sizes)} operators {'equal' if equal else 'differs'}", equal)
    if run.has_kernels:
        here = [torch.from_numpy(y) for y in run.outputs(pte, "host", inputs, 1)]
        there = upstream.execute_apart(data, inputs)
        answer = "refused" if there is None else distance(there, here, [1])[0]
        run.row(f"zoo/{name}", "ours: for m0", "executed upstream", f"{answer}, beside our runtime", answer == "bits")


def check(run, name, model):
    module, make_inputs = networks.make(model)
    samples = [make_inputs() for _ in range(4)]
    inputs = samples[0]
    pt2 = run.folder / f"{name}.pt2"
    if not model.quantized:
        exported = torch.export.export(module, inputs)
        torch.export.save(exported, pt2)
        with torch.no_grad():
            expected = upstream.as_tuple(module(*inputs))
        check_model(run, name, pt2, inputs, expected, [0] * len(expected))
        check_theirs(run, name, exported, inputs, [0] * len(expected), False)
        check_ours(run, name, pt2, inputs, expected, [0] * len(expected), False)
        return
    exported = upstream.quantized(module, samples, explicit=False)
    torch.export.save(exported, pt2)
    steps = output_steps(pt2)
    theirs, runs = check_theirs(run, name, exported, inputs, steps, False)
    with torch.no_grad():
        expected = upstream.as_tuple(exported.module(check_guards=False)(*map(upstream.channels_last, inputs)))
    check_model(run, name, pt2, inputs, theirs[1].outputs if theirs else expected, steps)
    check_ours(run, name, pt2, inputs, expected, steps, True)
    if theirs is not None and runs:
        check_bundles(run, name, theirs, pt2, inputs)
    if any(len(shape) >= 3 for shape in model.shapes):
        explicit = upstream.quantized(module, samples, explicit=True)
        check_theirs(run, name, explicit, inputs, steps, True)


def main(program, folder, kernels, names):
    models = {**networks.all_models(), **{f"zoo/{name}": None for name in ZOO}}
    unknown = [name for name in names if name not in models]
    if unknown:
        sys.exit(f"no model {', '.join(unknown)}; there are {', '.join(models)}")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if kernels:
        upstream.use_kernels(kernels)
    run = Run(program, folder, bool(kernels))
    for name, model in models.items():
        if names and name not in names:
            continue
        try:
            if model is None:
                check_zoo(run, name.removeprefix("zoo/"))
            else:
                check(run, name, model)
        except Exception as error:  # one model must not hide the others
            traceback.print_exc()
            run.row(name, "", "", f"{type(error).__name__}: {error}", False)
    (folder / "table.json").write_text(json.dumps(run.rows, indent=1))
    print(f"{len(run.rows)} answers, {run.failures} not as they should be")
    return 1 if run.failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--kernels")
    parser.add_argument("models", nargs="*")
    given = parser.parse_intermixed_args()
    sys.exit(main(given.program, given.folder, given.kernels, given.models))
