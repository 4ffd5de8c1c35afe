#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pushes models through ExecuTorch's compiler and ours, and their files through both runtimes; prints a table.

usage: interop.py CORMORANT WORK_DIR [--kernels LIBRARY] [MODEL...]

Questions per model, answered with "bits" (equal to the last bit), "N steps" (of the output's quantization), "N · 1e-5"
(of a float output's largest value) or what went wrong; the exit status is 1 where an answer is not as good as it should
be. "executed" and "loaded" say what happened to a file, and where:
  model     a .pt2, PT2E-quantized or float, through our compiler, on the host and an emulated M55, beside upstream's
            semantics
  operators the same model with every operator's output returned
  theirs    upstream's .pte for M55, M4 and M0, in both of its layouts, in our runtime on the host and on those boards,
            beside its Python semantics and, for M0, its kernels; of float models also its program without a backend
  ours      our .pte for upstream's runtime: read by its deserializer, accepted by its verifier, scratch as CMSIS-NN
            wants it. Float programs are executed there. Quantized ones need its Cortex-M kernels: with --kernels, a
            library that registers them for this machine (CMSIS-NN's plain C, which is what a Cortex-M0 runs), those for
            M0 are executed there, beside our own runtime; those for other CPUs are only loaded. All are executed in
            our runtime, on the host beside upstream's semantics and on their board beside the host.
  bundle    .bpte both ways
"""
import argparse
import json
import pathlib
import sys
import traceback

import numpy as np
import torch

import networks
import upstream
from answers import ALLOWED_STEPS, Refused, Run, distance, output_steps

CPUS = ("cortex-m55", "cortex-m4", "cortex-m0")
ZOO = ("kws", "vww", "digits", "fashion", "ad")
MISCOMPILED_STEPS = 16  # beyond which a program does not compute its quantized model


def stays_in_float(refusal):
    """Whether our compiler refuses a mixed model because upstream's runtime has no kernel for what stays in float."""
    return "stay in float" in refusal


def check_model(run, name, pt2, inputs, expected, steps, allowed=ALLOWED_STEPS):
    pte = run.folder / f"{name}.ours.pte"
    try:
        run.cormorant("compile", pt2, "--target=cortex-m55", "-o", pte)
    except Refused as refusal:
        return run.row(name, "model: .pt2", "our compiler", f"refused: {refusal}", False)
    for target in ("host", "cortex-m55"):
        run.compare(name, "model: .pt2", pte, target, inputs, expected, steps, allowed=allowed)


def check_operators(run, name, module, samples, own_outputs):
    """Every operator's output, beside both of upstream's implementations: Python and, where they are, its kernels."""
    inputs, what, where = samples[0], "operators: .pt2", "executed on host"
    exported = upstream.quantized(module, samples, explicit=False, every_output=True)
    pt2, pte = run.folder / f"{name}.operators.pt2", run.folder / f"{name}.operators.pte"
    torch.export.save(exported, pt2)
    steps = output_steps(pt2)
    try:
        theirs = upstream.compiled(exported, inputs, "cortex-m0")
    except Exception as error:  # with more outputs it makes a wrong program of some models
        return run.row(name, what, "upstream's compiler", f"refused: {str(error).splitlines()[0][:90]}")
    kernels = upstream.execute_apart(theirs.pte, list(map(upstream.channels_last, inputs))) if run.has_kernels else None
    run.cormorant("compile", pt2, "--target=cortex-m55", "-o", pte)
    here = run.outputs(pte, "host", inputs, len(steps))
    # In the graph's order, so that a difference is not held against the operators after it.
    order = [*range(own_outputs, len(steps)), *range(own_outputs)]
    apart = [distance([here[i]], [theirs.outputs[i]], [steps[i]])[1] for i in order]
    answer = f"{apart.count(0)} of {len(order)} outputs bits" + (f", others {max(apart):.2f} steps" if any(apart) else "")
    contradicted = 0
    if kernels is not None:
        agree = [distance([kernels[i]], [theirs.outputs[i]], [steps[i]])[1] == 0 for i in order]
        contradicted = sum(all(agree[: i + 1]) and distant > 0 for i, distant in enumerate(apart))
        answer += f"; upstream's own two agree on {sum(agree)}"
        if not all(agree):  # from there on its operators have two inputs: ours are held to those that they have here
            as_kernels = [distance([here[i]], [kernels[i]], [steps[i]])[1] for i in order]
            answer += f", {as_kernels.count(0)} are its kernels' bits"
            apart = [min(pair) for pair in zip(apart, as_kernels)]
    if contradicted:
        answer += f"; {contradicted} differ where those two agree"
    run.row(name, what, where, answer, max(apart) <= ALLOWED_STEPS and not contradicted)


def write_fixture(pte, data, inputs, outputs):
    """A program and its data next to each other, so that they can become a fixture."""
    pte.write_bytes(data)
    for i, x in enumerate(inputs):
        np.save(pte.with_suffix(f".in{i}.npy"), x.numpy())
    for i, y in enumerate(outputs):
        np.save(pte.with_suffix(f".out{i}.npy"), y.detach().contiguous().numpy())


def check_theirs(run, name, exported, inputs, steps, explicit):
    """The first of upstream's programs, if it computes the model, and whether its own runtime takes it."""
    layout = "nhwc" if explicit else "dim_order"
    what = f"theirs: {layout}"
    programs = {}
    try:
        for cpu in CPUS:
            theirs = upstream.compiled(exported, inputs, cpu, explicit)
            pte = run.folder / f"{name}.{layout}.{cpu}.pte"
            write_fixture(pte, theirs.pte, inputs, theirs.outputs)
            programs[cpu] = (pte, theirs)
    except Exception as error:  # its compiler refuses some models for itself
        run.row(name, what, "upstream's compiler", f"refused: {str(error).splitlines()[0][:90]}")
        return None, False
    first = programs[CPUS[0]]
    wrong = distance(numpy_of(first[1].outputs), of_quantized_model(exported, inputs, explicit), steps)[1]
    if wrong > MISCOMPILED_STEPS:
        run.row(name, what, "upstream's compiler", f"its program is {wrong:.0f} steps from the quantized model itself")
        return None, False
    # Its kernels and its Python semantics differ now and then; and some of its programs its runtime refuses itself.
    known_bad = False
    if run.has_kernels and not explicit:
        pte, theirs = programs["cortex-m0"]
        outputs = upstream.execute_apart(theirs.pte, [upstream.channels_last(x) for x in inputs])
        known_bad = outputs is None
        answer, apart = ("refused", 0) if known_bad else distance(outputs, theirs.outputs, steps)
        run.row(name, what, "executed upstream", f"{answer}, beside its Python semantics")
        if not known_bad and apart <= ALLOWED_STEPS:  # else it contradicts itself
            run.compare(name, f"{what}, its kernels", pte, "host", inputs, outputs, steps)
    run.compare(name, what, first[0], "host", inputs, first[1].outputs, steps, known_bad)
    for cpu, (pte, theirs) in programs.items():
        run.compare(name, what, pte, cpu, inputs, theirs.outputs, steps, known_bad)
    return first, not known_bad


def numpy_of(tensors):
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def of_quantized_model(exported, inputs, explicit):
    """What the quantized model means: its operators in float, between quantize and dequantize."""
    place = (lambda x: x) if explicit else upstream.channels_last
    with torch.no_grad():
        return upstream.as_tuple(exported.module(check_guards=False)(*map(place, inputs)))


def check_theirs_in_float(run, name, exported, inputs, expected):
    """Float programs: of its Cortex-M compiler without quantization, and of its compiler without a backend."""
    steps = [0] * len(expected)
    for what, make in (("theirs: Cortex-M, float", lambda: upstream.compiled(exported, inputs, CPUS[0]).pte),
                       ("theirs: portable", lambda: upstream.portable(exported))):
        pte = run.folder / f"{name}.{what.split()[1].strip(',').lower()}.pte"
        try:
            write_fixture(pte, make(), inputs, expected)
        except Exception as error:
            run.row(name, what, "upstream's compiler", f"refused: {str(error).splitlines()[0][:90]}")
            continue
        there = upstream.execute_apart(pte.read_bytes(), inputs)
        answer, worst = ("refused", 0) if there is None else distance(there, expected, steps)
        run.row(name, what, "executed upstream", f"{answer}, beside PyTorch", worst <= 1)
        for target in ("host", *CPUS):
            run.compare(name, what, pte, target, inputs, expected if there is None else there, steps)


def check_ours(run, name, pt2, inputs, expected, steps, quantized, allowed=ALLOWED_STEPS):
    """Returns our program for upstream's runtime if it was executed there."""
    executed = None
    for cpu in CPUS:
        pte = run.folder / f"{name}.executorch.{cpu}.pte"
        what = f"ours: for {cpu.removeprefix('cortex-')}"
        try:
            run.cormorant("compile", pt2, f"--target={cpu}", "--runtime=executorch", "-o", pte)
        except Refused as refusal:
            # What ExecuTorch's kernels cannot do is refused, with a reason.
            good = "ExecuTorch" in str(refusal) or stays_in_float(str(refusal))
            run.row(name, what, "our compiler", f"refused: {refusal}", good)
            continue
        check_loaded(run, name, what, pte, cpu)
        run.compare(name, what, pte, "host", inputs, expected, steps, allowed=allowed)
        try:
            here = run.outputs(pte, "host", inputs, len(expected))
        except Refused:  # the row above says so
            continue
        run.compare(name, f"{what}, as host", pte, cpu, inputs, here, steps, allowed=0)
        if quantized and not (cpu == "cortex-m0" and run.has_kernels):
            continue
        there = upstream.execute_apart(pte.read_bytes(), inputs)
        answer, worst = ("refused", 2) if there is None else distance(there, here, steps)
        run.row(name, what, "executed upstream", f"{answer}, beside our runtime", worst <= (0 if quantized else 1))
        executed = pte if there is not None else executed
    return executed


def check_loaded(run, name, what, pte, cpu):
    data = pte.read_bytes()
    sizes = upstream.scratch_sizes(data, cpu)
    wrong = [f"{op} {have} instead of {want}" for op, have, want in sizes if have != want]
    _, meta = upstream.load(data)
    answer = f"verified, {meta.num_inputs()} inputs, scratch of {len(sizes)} operators "
    run.row(name, what, "loaded upstream", answer + ("equal" if not wrong else f"differs: {wrong}"), not wrong)


def check_their_bundle(run, name, pte, inputs, outputs):
    bundle = run.folder / f"{name}.theirs.bpte"
    bundle.write_bytes(upstream.bundled(str(pte), inputs, outputs))
    execute_bundle(run, name, "bundle: theirs", bundle)


def execute_bundle(run, name, what, bundle):
    try:
        verdict = run.cormorant("run", bundle, "--target=host").splitlines()[-1]
    except Refused as refusal:
        verdict = str(refusal)
    run.row(name, what, "executed on host", verdict, verdict == "Test_result: PASS")


def check_our_bundle(run, name, pt2, inputs, expected, is_executed):
    """With inputs and outputs that we name; a program that upstream's runtime can execute is checked there by it."""
    data, ours = run.folder / f"{name}.bundle.npz", run.folder / f"{name}.ours.bpte"
    cpu = ("--target=cortex-m0", "--runtime=executorch") if is_executed else ("--target=cortex-m55",)
    names = (lambda letter, count: [letter] if count == 1 else [f"{letter}{i}" for i in range(count)])
    arrays = dict(zip(names("x", len(inputs)), (x.contiguous().numpy()[None] for x in inputs)))
    arrays |= dict(zip(names("y", len(expected)), (y.detach().contiguous().numpy()[None] for y in expected)))
    np.savez(data, **arrays)
    run.cormorant("compile", pt2, *cpu, "--bundle", data, "-o", ours)
    program, cases = upstream.read_bundle(ours.read_bytes())
    upstream.load(program)
    same = len(cases) == 1 and all(
        np.array_equal(found, given[0]) for found, given in zip([*cases[0][0], *cases[0][1]], arrays.values(), strict=True))
    run.row(name, "bundle: ours", "loaded upstream", f"program verified, data {'equal' if same else 'differs'}", same)
    run.cormorant("compile", pt2, *cpu, "--bundleio", "-o", ours)
    execute_bundle(run, name, "bundle: ours", ours)
    if is_executed:
        # Expected are our own runtime's outputs here: the tolerance is the verifier's, not ours.
        passed = upstream.apart(lambda: upstream.check_bundle(ours.read_bytes())) is not None
        run.row(name, "bundle: ours", "executed upstream", "passes" if passed else "fails", passed)


def check_zoo(run, name):
    """A float model that we quantize ourselves, in upstream's runtime."""
    zoo = pathlib.Path(__file__).resolve().parents[2] / "zoo"
    inputs = [torch.from_numpy(np.load(zoo / f"{name}_expected.npz")["x"][:1].astype(np.float32))]
    pte = run.folder / f"zoo_{name}.pte"
    run.cormorant("compile", zoo / f"{name}.pt2", "--calibrate", zoo / f"{name}_calibration.npz", "--target=cortex-m0",
                  "--runtime=executorch", "-o", pte)
    check_loaded(run, f"zoo/{name}", "ours: for m0", pte, "cortex-m0")
    if run.has_kernels:
        here = run.outputs(pte, "host", inputs, 1)
        there = upstream.execute_apart(pte.read_bytes(), inputs)
        answer = "refused" if there is None else distance(there, here, [1])[0]
        run.row(f"zoo/{name}", "ours: for m0", "executed upstream", f"{answer}, beside our runtime", answer == "bits")


def check_float(run, name, module, inputs):
    pt2 = run.folder / f"{name}.pt2"
    exported = torch.export.export(module, inputs)
    torch.export.save(exported, pt2)
    with torch.no_grad():
        expected = upstream.as_tuple(module(*inputs))
    steps = [0] * len(expected)
    check_model(run, name, pt2, inputs, expected, steps)
    check_theirs_in_float(run, name, exported, inputs, expected)
    executed = check_ours(run, name, pt2, inputs, expected, steps, False)
    check_their_bundle(run, name, run.folder / f"{name}.portable.pte", inputs, expected)
    check_our_bundle(run, name, pt2, inputs, expected, executed is not None)


def check_quantized(run, name, module, samples, has_layout):
    inputs = samples[0]
    pt2 = run.folder / f"{name}.pt2"
    exported = upstream.quantized(module, samples, explicit=False)
    torch.export.save(exported, pt2)
    steps = output_steps(pt2)
    theirs, runs = check_theirs(run, name, exported, inputs, steps, False)
    allowed = ALLOWED_STEPS
    if theirs is not None:
        expected = theirs[1].outputs
        check_operators(run, name, module, samples, len(expected))
    else:  # beside the model itself, whose operators do not round to int8 as any integer kernel does
        expected = of_quantized_model(exported, inputs, False)
        allowed = 2 * ALLOWED_STEPS
    check_model(run, name, pt2, inputs, expected, steps, allowed)
    executed = check_ours(run, name, pt2, inputs, expected, steps, True, allowed)
    if theirs is not None and runs:
        check_their_bundle(run, name, theirs[0], list(map(upstream.channels_last, inputs)), expected)
    check_our_bundle(run, name, pt2, inputs, expected, executed is not None)
    if has_layout:
        explicit = upstream.quantized(module, samples, explicit=True)
        check_theirs(run, name, explicit, inputs, steps, True)


def check(run, name, model):
    if name.startswith("zoo/"):
        return check_zoo(run, name.removeprefix("zoo/"))
    module, make_inputs = networks.make(model)
    samples = [make_inputs() for _ in range(4)]
    if not model.quantized:
        return check_float(run, name, module, samples[0])
    return check_quantized(run, name, module, samples, any(len(shape) >= 3 for shape in model.shapes))


def main(program, folder, kernels, names):
    models = {**networks.all_models(), **{f"zoo/{name}": None for name in ZOO}}
    unknown = [name for name in names if name not in models]
    if unknown:
        sys.exit(f"error: no model {', '.join(unknown)}; there are {', '.join(models)}")
    if kernels and not pathlib.Path(kernels).is_file():
        sys.exit(f"error: no library {kernels}; docs/from-executorch.md says what it has to be")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if kernels:
        upstream.use_kernels(kernels)
    run = Run(program, folder, bool(kernels))
    for name, model in models.items():
        if names and name not in names:
            continue
        try:
            check(run, name, model)
        except Exception as error:  # one model must not hide the others
            traceback.print_exc()
            run.row(name, "", "", f"{type(error).__name__}: {error}", False)
    (folder / "table.json").write_text(json.dumps(run.rows, indent=1))
    print(run.summary())
    return 1 if run.failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--kernels")
    parser.add_argument("models", nargs="*")
    given = parser.parse_intermixed_args()
    sys.exit(main(given.program, given.folder, given.kernels, given.models))
