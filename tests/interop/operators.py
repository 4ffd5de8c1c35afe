#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts which of PyTorch's operators compile here and give its answers, by the samples of its own operator database.

usage: operators.py CORMORANT WORK_DIR [--samples N] [--board TARGET] [--list FILE] [--runtime RUNTIME] [OPERATOR...]

Each operator of operators.txt (a name of torch.testing's OpInfo, with its variant after a dot) gets up to N of its
float32 samples, spread over all that it has. Each sample is exported separately: tensors are inputs of the model, everything
else is constant. It is compiled in float for Cortex-M55 and executed on the host (and on the board, where one is named,
which must give the host's bits). Outcomes per sample:
  right     equal to PyTorch's answer within 1e-4 of the largest value; integers and booleans exactly
  wrong     anything else that was computed
  refused   the compiler says no (status 1), or the runtime does not load the program
  internal  any other status
An operator holds if all of its samples are right. The exit status is 1 if one is wrong or internal, or does not load.
Exports are kept in WORK_DIR/cases and made only once.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import torch

TOLERANCE = 1e-4
HERE = pathlib.Path(__file__).resolve().parent


class Sample(torch.nn.Module):
    """A call of an operator whose tensors are arguments and whose other arguments are constant."""

    def __init__(self, operator, sample):
        super().__init__()
        self.operator = operator
        leaves, self.structure = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.constants = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        self.tensors = [leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def forward(self, *tensors):
        rest = iter(tensors)
        leaves = [next(rest) if is_tensor else leaf for leaf, is_tensor in zip(self.constants, self.is_tensor)]
        first, args, kwargs = torch.utils._pytree.tree_unflatten(leaves, self.structure)
        results, _ = torch.utils._pytree.tree_flatten(self.operator(first, *args, **kwargs))
        return tuple(result for result in results if isinstance(result, torch.Tensor))


def database():
    from torch.testing._internal.common_methods_invocations import op_db
    return {op.name + (f".{op.variant_test_name}" if op.variant_test_name else ""): op for op in op_db}


def spread(items, count):
    """Some of them, the first and the last included."""
    if len(items) <= count:
        return list(enumerate(items))
    return [(i, items[i]) for i in sorted({round(k * (len(items) - 1) / (count - 1)) for k in range(count)})] \
        if count > 1 else [(0, items[0])]


def make_cases(folder, name, operator, count):
    """Exports that are missing; returns the folders of all cases."""
    index = folder / f"{name}.{count}.json"
    if index.exists():
        return [folder / case for case in json.loads(index.read_text())]
    made, left_out = [], []
    torch.manual_seed(0)
    for i, sample in spread(list(operator.sample_inputs("cpu", torch.float32, requires_grad=False)), count):
        case = folder / f"{name}.{i}"
        try:
            module = Sample(operator.op, sample)
            inputs = tuple(module.tensors)
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = module(*[x.clone() for x in inputs])
                if not inputs or not expected:
                    raise ValueError("no tensor goes in, or none comes out")
                exported = torch.export.export(module, inputs)
                case.mkdir(parents=True, exist_ok=True)
                torch.export.save(exported, case / "model.pt2")
        except Exception as error:  # what PyTorch cannot export is not ours to compile
            left_out.append(f"{case.name}: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}")
            continue
        for k, x in enumerate(inputs):
            np.save(case / f"in{k}.npy", x.resolve_neg().contiguous().numpy())
        for k, y in enumerate(expected):
            np.save(case / f"expected{k}.npy", y.detach().resolve_neg().contiguous().numpy())
        made.append(case.name)
    if left_out:
        (folder / f"{name}.left_out.txt").write_text("\n".join(left_out) + "\n")
    index.write_text(json.dumps(made))
    return [folder / case for case in made]


def apart(actual, expected):
    """None if they are equal as far as they have to be, else how they differ."""
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    if expected.dtype.kind in "biu":
        different = np.count_nonzero(actual.astype(np.float64) != expected.astype(np.float64))
        return f"{different} of {expected.size} {expected.dtype} differ" if different else None
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(e)
    if not np.array_equal(np.isnan(a), np.isnan(e)) or not np.array_equal(a[np.isinf(e)], e[np.isinf(e)]):
        return "infinities or NaNs differ"
    if not finite.any():
        return None
    size = max(float(np.abs(e[finite]).max()), 1e-30)
    worst = float(np.abs(a[finite] - e[finite]).max()) / size
    return f"apart by {worst:.2g} of the range" if not worst <= TOLERANCE else None


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    lines = (done.stderr or done.stdout).strip().splitlines()
    return done.returncode, next((line for line in lines if "error" in line), lines[0] if lines else "")


def check_case(program, case, board, runtime):
    """(outcome, remark)"""
    pte = case / f"model.{runtime}.pte"
    status, line = run(program, "compile", case / "model.pt2", "--target=cortex-m55", f"--runtime={runtime}",
                       "--no-link", "-o", pte)
    if status:
        return ("refused" if status == 1 else "internal"), line
    inputs, outputs = sorted(case.glob("in*.npy"), key=number), sorted(case.glob("expected*.npy"), key=number)
    answers = {}
    for target in ["host"] + ([board] if board else []):
        arguments = ["run", pte, f"--target={target}"]
        for path in inputs:
            arguments += ["--input", path]
        paths = [case / f"{target}{k}.npy" for k in range(len(outputs))]
        for path in paths:
            arguments += ["--output", path]
        status, line = run(program, *arguments)
        if status:
            return ("does not load" if status == 1 else "internal"), f"{target}: {line}"
        answers[target] = [np.load(path) for path in paths]
    for k, (actual, expected) in enumerate(zip(answers["host"], outputs)):
        if remark := apart(actual, np.load(expected)):
            return "wrong", f"output {k}: {remark}"
    if board and any(a.tobytes() != b.tobytes() for a, b in zip(answers["host"], answers[board])):
        return "wrong", f"{board} and the host differ"
    return "right", ""


def number(path):
    return int("".join(c for c in path.stem if c.isdigit()))


def main(given):
    warnings.simplefilter("ignore")
    folder = pathlib.Path(given.folder)
    cases_folder = folder / "cases"
    cases_folder.mkdir(parents=True, exist_ok=True)
    lines = pathlib.Path(given.list).read_text().splitlines()
    names = given.operators or [line for line in lines if line and not line.startswith("#")]
    known = database()
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"error: no operator {', '.join(unknown)} in this PyTorch's database")
    outcomes = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pending = {}
        for name in names:
            for case in make_cases(cases_folder, name, known[name], given.samples):
                pending[case.name] = pool.submit(check_case, given.program, case, given.board, given.runtime)
        for case, future in pending.items():
            outcomes[case] = future.result()
            if outcomes[case][0] != "right":
                print(f"{case:<44} {outcomes[case][0]:<13} {outcomes[case][1][:200]}", flush=True)
    by_operator = collections.defaultdict(list)
    for case, (outcome, _) in outcomes.items():
        by_operator[case.rsplit(".", 1)[0]].append(outcome)
    holds = [name for name, results in by_operator.items() if all(result == "right" for result in results)]
    counts = collections.Counter(outcome for outcome, _ in outcomes.values())
    (folder / "operators.json").write_text(json.dumps(outcomes, indent=1))
    print(", ".join(f"{count} samples {outcome}" for outcome, count in sorted(counts.items())))
    print(f"{len(holds)} of {len(by_operator)} operators hold"
          + (f"; without samples that export: {', '.join(sorted(set(names) - set(by_operator)))}"
             if len(by_operator) < len(names) else ""))
    return 1 if counts.keys() & {"wrong", "internal", "does not load"} else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--board")
    parser.add_argument("--list", default=str(HERE / "operators.txt"))
    parser.add_argument("--runtime", default="cormorant")
    parser.add_argument("operators", nargs="*")
    sys.exit(main(parser.parse_intermixed_args()))
