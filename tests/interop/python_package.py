#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package beside PyTorch: exported programs and tensors, the quantizer, quantization-aware training, the
notebook, and models by name.

usage: python_package.py SOURCE_DIR      (the package is on PYTHONPATH, the program's tools are built)
"""
import ast
import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

import cormorant
from cormorant.quantizer import CortexMQuantizer

SOURCE = None  # by the command line


class Residual(nn.Module):
    """Convolutions with batch norm, a skip, pooling, activations by table, a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.pointwise = nn.Sequential(nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8))
        self.act = nn.Hardswish()
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8 * 4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.act(x + self.pointwise(self.depthwise(x)))
        x = torch.nn.functional.avg_pool2d(self.pool(x), 2)
        return self.head(x.flatten(1))


class Shapes(nn.Module):
    """What moves, joins and selects, and a softmax whose range is known."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        self.gate = nn.Conv2d(6, 6, 1)

    def forward(self, x):
        x = self.a(x)
        left, right = x.chunk(2, dim=1)
        x = torch.cat([left, right.tanh(), self.b(left)], dim=1)[:, :6]
        x = x.unsqueeze(2)
        x = x * self.gate(x).sigmoid()
        return torch.softmax(x.squeeze(2).mean(-1, keepdim=True).squeeze(-1) - 1.0, dim=-1)


class Between(nn.Module):
    """A function between two convolutions."""

    def __init__(self, function):
        super().__init__()
        self.before, self.function, self.after = nn.Conv2d(3, 6, 1), function, nn.Conv2d(6, 2, 1)

    def forward(self, x):
        return self.after(self.function(self.before(x).abs() + 0.25))


class Signals(nn.Module):
    """Convolutions over one dimension: strided with a batch norm, depthwise and dilated, pointwise, transposed."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(8, 16, 5, padding=2, stride=2)
        self.norm = nn.BatchNorm1d(16)
        self.depthwise = nn.Conv1d(16, 16, 3, groups=16, dilation=2, padding=2)
        self.pointwise = nn.Conv1d(16, 12, 1)
        self.up = nn.ConvTranspose1d(12, 6, 4, stride=2, padding=1)
        self.out = nn.Linear(6 * 32, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(self.pointwise(nn.functional.relu6(self.depthwise(x))))
        return self.out(torch.relu(self.up(x)).flatten(1))


class Functions(nn.Module):
    """A function between two layers and at the end of the model, where no other operator asks for its parameters."""

    def __init__(self, function):
        super().__init__()
        self.a, self.b, self.function = nn.Conv1d(6, 6, 1), nn.Conv1d(6, 6, 1), function

    def forward(self, x):
        x = self.b(self.function(self.a(x)).reshape(-1, 6, 1))
        return self.function(x.reshape(1, 6, -1))


FUNCTIONS = {
    "erf": torch.erf, "sin": torch.sin, "cos": torch.cos, "expm1": torch.expm1, "square": torch.square,
    "round": torch.round, "selu": nn.functional.selu, "celu": lambda x: nn.functional.celu(x, 1.5),
    "log_sigmoid": nn.functional.logsigmoid, "hardshrink": nn.functional.hardshrink,
    "adaptive_max_pool1d": lambda x: nn.functional.adaptive_max_pool1d(x, 4),
    "adaptive_max_pool2d": lambda x: nn.functional.adaptive_max_pool2d(x.unsqueeze(2), (1, 4)),
    "mean": lambda x: x.mean(-1), "mean of two": lambda x: x.unsqueeze(2).mean((2, 3)), "sum": lambda x: x.sum(dim=-1),
    "rsub": lambda x: 1 - x, "multiply": lambda x: torch.multiply(x, 2 - x), "clip": lambda x: torch.clip(x, -0.3, 0.4),
    "tile": lambda x: torch.tile(x, (1, 1, 2)), "swapaxes": lambda x: x.swapaxes(1, 2),
    "rms_norm": lambda x: nn.functional.rms_norm(x, x.shape[-1:]),
}


def digits():
    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    return x, torch.tensor(data.target)


def steps_apart(got, wanted, program):
    """In steps of the output's quantization, as the program's integers have them."""
    levels = np.unique(np.concatenate([got.numpy().ravel(), wanted.numpy().ravel()]))
    step = np.diff(levels)
    step = step[step > 1e-7].min() if (step > 1e-7).any() else 1.0
    return float((got - wanted).abs().max() / step)


class WithTorch(unittest.TestCase):
    def test_exported_programs_and_tensors(self):
        x, _ = digits()
        model = Residual().eval()
        exported = torch.export.export(model, (x[:1],))
        program = cormorant.compile(exported, target="cortex-m4", calibration=x[:64])
        got = program.run(x[:8])
        self.assertIsInstance(got, torch.Tensor)
        with torch.no_grad():
            wanted = model(x[:8])
        self.assertLess((got - wanted).abs().max().item(), 0.15 * wanted.abs().max().item())
        self.assertTrue(torch.equal(got[:1], program.run(x[:1], target="cortex-m4")))
        floating = cormorant.compile(exported, link=False)
        self.assertLess((floating.run(x[:8]) - wanted).abs().max().item(), 1e-5)
        self.assertGreater(program.evaluate(x[:64]).sqnr_db, 15)

    def test_loader_and_module(self):
        x, y = digits()
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=50)
        model = Residual().eval()
        exported = cormorant.export(model, x[:1])
        by_loader = cormorant.compile(exported, calibration=loader, link=False)
        by_tensor = cormorant.compile(exported, calibration=x[:256], link=False)
        self.assertEqual(by_loader.bytes, by_tensor.bytes)
        with self.assertRaisesRegex(cormorant.UsageError, "export it with an example"):
            cormorant.compile(model)

    def test_quantizer_annotates_what_runs_in_integers(self):
        torch.manual_seed(0)
        x, _ = digits()
        for model, samples in ((Residual(), x[:64]), (Shapes(), torch.randn(64, 6, 8))):
            model.eval()
            example = (samples[:1],)
            graph = torch.export.export(model, example).module()
            prepared = prepare_pt2e(graph, CortexMQuantizer())
            for sample in samples:
                prepared(sample[None])
            converted = convert_pt2e(prepared)
            program = cormorant.compile(torch.export.export(converted, example), link=False)
            self.assertEqual(program.float_operators, [], type(model).__name__)
            wanted = torch.cat([converted(sample[None]) for sample in samples[:16]])
            got = program.run(samples[:16])
            self.assertLessEqual(steps_apart(got, wanted, program), 1.01, type(model).__name__)
            # And it is all that the compiler would have quantized itself.
            alone = cormorant.compile(torch.export.export(model, example), calibration=samples, link=False)
            self.assertEqual(alone.float_operators, [])

    def test_every_function_has_parameters_of_its_own(self):
        for name, function in FUNCTIONS.items():
            torch.manual_seed(0)
            samples = torch.randn(32, 1, 6, 8)
            graph = torch.export.export(Functions(function).eval(), (samples[0],)).module()
            prepared = prepare_pt2e(graph, CortexMQuantizer())
            for sample in samples:
                prepared(sample)
            converted = convert_pt2e(prepared)
            program = cormorant.compile(torch.export.export(converted, (samples[0],)), link=False)
            self.assertEqual(program.float_operators, [], name)
            with torch.no_grad():
                wanted = converted(samples[0])
            self.assertLessEqual(steps_apart(program.run(samples[0]), wanted, program), 1.01, name)

    def test_formats_are_trained_as_the_board_computes(self):
        torch.manual_seed(0)
        samples, _ = digits()
        samples = samples[:64]
        for scheme, kernels in (("8w16a", "mve_words"), ("4w8a", "mve_nibbles")):
            graph = torch.export.export(Residual().train(), (samples[:2],)).module()
            prepared = prepare_qat_pt2e(graph, CortexMQuantizer(is_qat=True, scheme=scheme))
            for pair in samples.split(2):
                prepared(pair)
            move_exported_model_to_eval(prepared)
            converted = convert_pt2e(prepared)
            program = cormorant.compile(torch.export.export(converted, (samples[:2],)), target="cortex-m55", link=False)
            self.assertEqual(program.float_operators, [], scheme)
            self.assertIn(f"cormorant::conv2d.{kernels}", program.operators)
            with torch.no_grad():
                wanted = torch.cat([converted(pair) for pair in samples[:16].split(2)])
            got = torch.cat([program.run(pair) for pair in samples[:16].split(2)])
            self.assertLessEqual(steps_apart(got, wanted, program), 1.01, scheme)
        with self.assertRaisesRegex(ValueError, "8w16a"):
            CortexMQuantizer(scheme="16w16a")

    def test_what_is_annotated_has_the_format(self):
        # Not in the quantizer's lists for 16 bits: nothing computes them with these.
        bytes_only = {"log": torch.log, "pow": lambda v: v**1.5, "reciprocal": torch.reciprocal, "rsqrt": torch.rsqrt,
                      "sqrt": torch.sqrt, "amin": lambda v: v - v.amin(1, keepdim=True)}
        both = {"prelu": nn.PReLU(6), "one slope": nn.PReLU(), "leaky_relu": nn.LeakyReLU(0.1), "exp": torch.exp,
                "gelu": nn.GELU(), "neg": torch.neg, "elu": nn.ELU(), "silu": nn.SiLU(), "mish": nn.Mish(),
                "softplus": nn.Softplus(), "hardswish": nn.Hardswish(), "amax": lambda v: v + v.amax(1, keepdim=True)}
        torch.manual_seed(0)
        samples = torch.randn(16, 3, 4, 4)
        for scheme in ("8w8a", "8w16a"):
            for name, function in {**bytes_only, **both}.items():
                model = Between(function).eval()
                if isinstance(function, nn.PReLU):
                    model.before.bias.data -= 1  # else nothing is below zero
                    model.function.weight.data = torch.linspace(-0.3, 0.7, model.function.num_parameters)
                example = (samples[:1],)
                prepared = prepare_pt2e(torch.export.export(model, example).module(), CortexMQuantizer(scheme=scheme))
                for sample in samples:
                    prepared(sample[None])
                converted = convert_pt2e(prepared)
                program = cormorant.compile(torch.export.export(converted, example), link=False)
                left = [operator["operator"] for operator in program.float_operators]
                if scheme == "8w16a" and name in bytes_only:
                    self.assertEqual([op for op in left if "conv" in op], [], name)
                    continue
                self.assertEqual(left, [], f"{name} {scheme}")
                wanted = torch.cat([converted(sample[None]) for sample in samples]).detach()
                off = (program.run(samples) - wanted).abs().max() / wanted.abs().max()
                self.assertLess(off, 0.03 if scheme == "8w8a" else 1e-3, f"{name} {scheme}")

    def test_training_sees_one_dimension_as_the_board_does(self):
        torch.manual_seed(0)
        model, samples = Signals(), torch.randn(64, 8, 32)
        graph = torch.export.export(model.train(), (samples[:2],)).module()
        prepared = prepare_qat_pt2e(graph, CortexMQuantizer(is_qat=True))
        for pair in samples.split(2):
            prepared(pair)
        move_exported_model_to_eval(prepared)
        converted = convert_pt2e(prepared)
        program = cormorant.compile(torch.export.export(converted, (samples[:2],)), link=False)
        self.assertEqual(program.float_operators, [])
        with torch.no_grad():
            wanted = torch.cat([converted(pair) for pair in samples[:16].split(2)])
        got = torch.cat([program.run(pair) for pair in samples[:16].split(2)])
        self.assertLessEqual(steps_apart(got, wanted, program), 1.01)

    def test_quantization_aware_training_is_honest(self):
        torch.manual_seed(0)
        x, y = digits()
        train, test = slice(0, 1400), slice(1400, None)
        model = Residual()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.train_epochs(model, optimizer, x[train], y[train], 2)
        graph = torch.export.export(model.train(), (x[:2],), dynamic_shapes=({0: torch.export.Dim("n", min=2)},)).module()
        prepared = prepare_qat_pt2e(graph, CortexMQuantizer(is_qat=True))
        optimizer = torch.optim.Adam(prepared.parameters(), lr=2e-3)
        self.train_epochs(prepared, optimizer, x[train], y[train], 2)
        move_exported_model_to_eval(prepared)
        converted = convert_pt2e(prepared)
        exported = torch.export.export(converted, (x[:1],))
        program = cormorant.compile(exported, target="cortex-m55")
        self.assertEqual(program.float_operators, [])
        with torch.no_grad():
            wanted = torch.cat([exported.module()(sample[None]) for sample in x[test]])
        got = program.run(x[test])
        self.assertLessEqual(steps_apart(got, wanted, program), 1.01)
        share = (got.argmax(1) == wanted.argmax(1)).float().mean().item()
        accuracy = (got.argmax(1) == y[test]).float().mean().item()
        print(f"QAT: accuracy {100 * accuracy:.1f} %, the same answer as PyTorch {100 * share:.1f} %, "
              f"{(got != wanted).float().mean().item() * 100:.1f} % of outputs a step off", file=sys.stderr)
        self.assertGreater(share, 0.98)
        self.assertGreater(accuracy, 0.8)
        self.assertTrue(torch.equal(program.run(x[:1], target="cortex-m55"), program.run(x[:1])))

    @staticmethod
    def train_epochs(model, optimizer, x, y, epochs):
        for _ in range(epochs):
            for batch in torch.randperm(len(x)).split(50):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
                optimizer.step()

    def test_models_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mv2.pt2"
            cormorant.models.export("mv2_untrained", path)
            program = cormorant.compile(path, quantize=True, link=False)
            self.assertEqual(program.inputs[0].shape, (1, 3, 224, 224))
        with self.assertRaisesRegex(cormorant.UsageError, "resnet18"):
            cormorant.models.export("resnet81", "x.pt2")

    def test_notebook(self):
        notebook = json.loads((SOURCE / "docs/python/mobilenet_v2.ipynb").read_text())
        names = {}
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] != "code":
                continue
            tree = ast.parse("".join(cell["source"]), f"cell {number}")
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, f"cell {number}", "exec"), names)
            if last is not None:  # what a notebook would show
                value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
                getattr(value, "_repr_html_", value.__repr__)()
        self.assertGreater(names["scores"].accuracy, 0.9)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
