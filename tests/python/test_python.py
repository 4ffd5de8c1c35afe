# SPDX-License-Identifier: Apache-2.0
"""The Python package without PyTorch: what it does is what the program does.

usage: test_python.py PROGRAM SOURCE_DIR      (the package is on PYTHONPATH)
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import cormorant
from cormorant import _core

PROGRAM = SOURCE = None  # by the command line
os.environ.pop("LD_PRELOAD", None)  # a sanitizer's runtime is for this process, not for those that it starts

TWO_OUTPUTS = """graph forward
input %a : f32[1,4]
input %b : f32[1,4]
node "add" "first" "here.py:1"
  %sum : f32[1,4] = aten.add(self=%a, other=%b, alpha=1.0)
node "relu" "second" "here.py:2"
  %top : f32[1,4] = aten.clamp(self=%a, min=0.0, max=none)
output %sum "sum"
output %top "top"
"""


def program(*arguments, status=0):
    """Standard output of the program, or its error where it must fail."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.zoo = SOURCE / "zoo"
        # Few samples, where accuracy is not asked for: calibrating is most of a compilation's time.
        cls.samples = np.load(cls.zoo / "digits_calibration.npz")["x"][:24]
        cls.calibration = cls.work / "few.npz"
        np.savez(cls.calibration, x=cls.samples)
        test = np.load(cls.zoo / "digits_test.npz")
        cls.x, cls.y = test["x"][:40], test["y"][:40]
        cls.digits = cormorant.compile(cls.zoo / "digits.pt2", target="m55", calibration=cls.samples)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def text_model(self):
        path = self.work / "two.txt"
        path.write_text(TWO_OUTPUTS)
        return path

    def test_needs_no_torch(self):
        self.assertNotIn("torch", sys.modules)

    def test_arrays_and_files_give_the_programs_bytes(self):
        pte = self.work / "digits.pte"
        figures = json.loads(program("compile", self.zoo / "digits.pt2", "--calibrate", self.calibration,
                                     "--target=cortex-m55", "-o", pte, "--json"))
        self.assertEqual(self.digits.bytes, pte.read_bytes())
        for name in ("target", "isa", "operators", "macs", "constant_bytes", "arena_bytes"):
            self.assertEqual(getattr(self.digits, name), figures[name], name)
        self.assertEqual(self.digits.code_bytes, figures["firmware"]["code"])
        self.assertEqual(self.digits.stack_bytes, figures["firmware"]["stack_bound"]["bytes"])
        self.assertEqual(self.digits.flash_bytes, len(self.digits.bytes) + self.digits.code_bytes)
        self.assertEqual(cormorant.load(pte).bytes, self.digits.bytes)
        self.digits.save(self.work / "again.pte")
        self.assertEqual((self.work / "again.pte").read_bytes(), self.digits.bytes)
        self.assertTrue((self.work / "again.pte.names.json").exists())

    def test_runs_as_the_program_does_on_host_and_board(self):
        np.save(self.work / "x.npy", self.x[0])
        self.digits.save(self.work / "run.pte")
        program("run", self.work / "run.pte", "--target=host", "--input", self.work / "x.npy", "--output", self.work / "y.npy")
        wanted = np.load(self.work / "y.npy")
        here = self.digits.run(self.x[0])
        self.assertEqual(here.dtype, np.float32)
        np.testing.assert_array_equal(here, wanted)
        np.testing.assert_array_equal(self.digits(self.x[:3])[0:1], wanted)
        np.testing.assert_array_equal(self.digits.run(self.x[:2], target="cortex-m55")[0:1], wanted)

    def test_a_batch_is_its_samples(self):
        together = self.digits.run(self.x[:5])
        self.assertEqual(together.shape, (5, 10))
        for k in range(5):
            np.testing.assert_array_equal(together[k:k + 1], self.digits.run(self.x[k:k + 1]))

    def test_measures_layers(self):
        measured = self.digits.measure(self.x[0], clock="160MHz")
        self.assertEqual(measured.target, "cortex-m55")
        self.assertGreater(measured.instructions, 1000)
        self.assertAlmostEqual(measured.milliseconds, measured.cycles / 160e3)
        self.assertIn("conv", " ".join(str(op["node"]) for op in measured.operators))
        np.testing.assert_array_equal(measured.outputs, self.digits.run(self.x[0]))
        self.assertIn("instructions", measured._repr_html_())

    def test_evaluates_as_the_program_does(self):
        self.digits.save(self.work / "evaluate.pte")
        np.savez(self.work / "test.npz", x=self.x, y=self.y)
        wanted = json.loads(program("evaluate", self.work / "evaluate.pte", "--data", self.work / "test.npz",
                                    "--float", self.zoo / "digits.pt2", "--json"))
        got = self.digits.evaluate(self.x, self.y)
        for name in ("samples", "accuracy", "float_accuracy", "agreement", "sqnr_db"):
            self.assertEqual(getattr(got, name), wanted[name], name)
        self.assertGreater(got.accuracy, 0.9)
        np.testing.assert_array_equal(got.confusion, wanted["confusion"])

    def test_labels_of_any_type_and_one_hot(self):
        wanted = self.digits.evaluate(self.x, self.y, reference="").accuracy
        for labels in (self.y.astype(np.float32), self.y.astype(np.uint8), self.y[:, None], np.eye(10)[self.y]):
            self.assertEqual(self.digits.evaluate(self.x, labels, reference="").accuracy, wanted)
        self.assertIsNone(self.digits.evaluate(self.x, reference="").accuracy)

    def test_several_inputs_and_outputs_have_names(self):
        two = cormorant.compile(self.text_model(), target="cortex-m4", link=False)
        self.assertEqual([t.name for t in two.inputs], ["a", "b"])
        self.assertEqual([t.name for t in two.outputs], ["sum", "top"])
        self.assertIsNone(two.code_bytes)
        a, b = np.array([[1, -2, 3, -4]], np.float32), np.ones((1, 4), np.float32)
        out = two.run(a, b=b)
        np.testing.assert_array_equal(out["sum"], a + b)
        np.testing.assert_array_equal(out["top"], np.maximum(a, 0))
        np.testing.assert_array_equal(two.run(a)["sum"], a)  # what is left out is zero
        with self.assertRaisesRegex(cormorant.UsageError, "no input 'c'\n  the inputs are a, b"):
            two.run(c=a)
        with self.assertRaisesRegex(cormorant.UsageError, "given twice"):
            two.run(a, a=a)
        score = two.evaluate({"a": np.repeat(a, 9, 0), "b": np.repeat(b, 9, 0)}, {"y0": np.repeat(a + b, 9, 0)}, reference="")
        self.assertEqual(score.outputs[0]["rmse"], 0)
        self.assertIsNone(score.agreement)

    def test_state(self):
        self.assertFalse(self.digits.has_state)
        self.assertEqual(self.digits.buffer_bytes, 0)
        delays = cormorant.compile(self.zoo / "state" / "delays.pt2", target="m4")
        self.assertTrue(delays.has_state)
        self.assertEqual(delays.buffer_bytes, delays.figures["buffer_bytes"])

    def test_several_methods(self):
        model, arrays = SOURCE / "formats/pt2/testdata/methods.pt2", np.load(SOURCE / "formats/pt2/testdata/methods.npz")
        codec = cormorant.compile(model, target="m4", calibration=arrays, report=self.work / "codec.html")
        self.assertEqual(list(codec.methods), ["encode", "decode", "follow"])
        pte = self.work / "codec.pte"
        figures = json.loads(program("compile", model, "--calibrate", SOURCE / "formats/pt2/testdata/methods.npz",
                                     "--target=m4", "-o", pte, "--json"))
        self.assertEqual(codec.bytes, pte.read_bytes())
        self.assertEqual(codec.arena_bytes, figures["arena_bytes"])
        self.assertEqual(codec.ram_bytes, sum(figures["arena_bytes"].values()) + figures["state"] + figures["stack"])
        self.assertEqual(codec.flash_bytes, figures["model_bytes"] + figures["code"])
        encode = codec.methods["encode"]
        self.assertEqual(encode.operators, figures["methods"]["encode"]["operators"])
        self.assertEqual(encode.bytes, codec.bytes)
        x = arrays["encode.x"]
        np.testing.assert_array_equal(encode.run(x[:2], target="cortex-m4"), encode.run(x[:2]))
        self.assertGreater(encode.evaluate(x).sqnr_db, 20)  # beside the model's method of the same name
        self.assertTrue(codec.methods["follow"].has_state)
        self.assertIn("method decode", codec.methods["decode"].report().html)
        self.assertTrue((self.work / "codec.follow.html").exists())

        # By method, from arrays that the inputs are not named for.
        by_method = {"encode": x, "decode": arrays["decode.code"], "follow": arrays["follow.x"]}
        self.assertEqual(cormorant.compile(model, target="m4", calibration=by_method, link=False).bytes, codec.bytes)
        alone = cormorant.compile(model, target="m4", calibration=arrays, method="encode", link=False)
        self.assertEqual(alone.methods, {})
        np.testing.assert_array_equal(alone.run(x[:3]), encode.run(x[:3]))

        # Files of both kinds, with the names for profiles.
        codec.save(self.work / "again.pte")
        self.assertEqual((self.work / "again.pte.names.json").read_text(), pathlib.Path(f"{pte}.names.json").read_text())
        again = cormorant.load(self.work / "again.pte")
        self.assertEqual(again.bytes, codec.bytes)
        np.testing.assert_array_equal(again.methods["decode"].run(arrays["decode.code"][:1]),
                                      codec.methods["decode"].run(arrays["decode.code"][:1]))
        codec.save_bundled(self.work / "codec.bpte", {"encode": x[:4]}, {"encode": encode.run(x[:4])})
        self.assertIn("Test_result: PASS", program("run", self.work / "codec.bpte", "--target=host", "--method=encode"))
        self.assertEqual(json.loads(program("inspect", self.work / "codec.bpte", "--json", "--method=encode"))["test_cases"], 4)
        self.assertEqual(list(cormorant.load(self.work / "codec.bpte").methods), list(codec.methods))

        for call in (lambda: codec.run(x), lambda: codec.inputs, lambda: codec.macs, lambda: codec.report(),
                     lambda: codec.evaluate(x)):
            with self.assertRaisesRegex(cormorant.UsageError, 'has 3: encode, decode, follow\n  choose one: program.methods'):
                call()
        with self.assertRaisesRegex(cormorant.UsageError, "there is no method 'train'"):
            cormorant.compile(model, calibration={"train": x})
        with self.assertRaisesRegex(cormorant.InputError, "method decode: there is no calibration data"):
            cormorant.compile(model, calibration={"encode": x})

    def test_bundled(self):
        self.digits.save_bundled(self.work / "digits.bpte", self.x[:3])
        self.assertIn("Test_result: PASS", program("run", self.work / "digits.bpte", "--target=cortex-m55"))
        wrong = self.digits.run(self.x[:3])
        wrong[2] += 1
        self.digits.save_bundled(self.work / "digits.bpte", self.x[:3], wrong)
        program("run", self.work / "digits.bpte", "--target=host", status=1)
        with self.assertRaisesRegex(cormorant.UsageError, "outputs without inputs"):
            self.digits.save_bundled(self.work / "digits.bpte", y=wrong)
        with self.assertRaisesRegex(cormorant.UsageError, "bundle is no option here\n  use program.save_bundled"):
            cormorant.compile(self.zoo / "digits.pt2", bundle="x.npz")
        self.assertNotIn("bundle", cormorant.compile.options())

    def test_errors_have_the_programs_text(self):
        missing = self.work / "none.pt2"
        for call, arguments, status, kind in (
            (lambda: cormorant.compile(missing), ["compile", missing], 1, cormorant.InputError),
            (lambda: cormorant.compile(self.text_model(), target="cortex-m77"),
             ["compile", self.text_model(), "--target=cortex-m77"], 2, cormorant.UsageError),
            (lambda: cormorant.compile(self.text_model(), io="int8"),
             ["compile", self.text_model(), "--io=int8"], 2, cormorant.UsageError),
            (lambda: cormorant.compile(self.text_model(), budget={"ram": "64"}),
             ["compile", self.text_model(), "--budget=ram=64", "-o", self.work / "no.pte"], 1, cormorant.InputError),
        ):
            with self.assertRaises(kind) as caught:
                call()
            said = program(*arguments, status=status)
            self.assertIn("error: " + str(caught.exception).strip() + "\n", said)
        with self.assertRaises(cormorant.InputError) as caught:
            cormorant.compile(missing)
        self.assertEqual(caught.exception.file, str(missing))
        with self.assertRaisesRegex(cormorant.UsageError, "--optimise.*--optimize"):
            cormorant.compile(self.text_model(), optimise="speed")
        with self.assertRaisesRegex(cormorant.InputError, "array has shape"):
            self.digits.run(np.zeros((3, 3), np.float32))
        with self.assertRaisesRegex(cormorant.UsageError, "dict is not a model"):
            cormorant.compile({})

    def test_progress_is_told_and_may_end_it(self):
        seen = []
        cormorant.compile(self.zoo / "digits.pt2", calibration=self.samples[:9], link=False,
                          progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[0], (0, 9))
        self.assertEqual(seen[-1], (9, 9))

        def stop(done, total):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            cormorant.compile(self.zoo / "digits.pt2", calibration=self.samples[:9], link=False, progress=stop)

    def test_calibration_from_a_loader(self):
        loader = [(self.samples[k:k + 4], self.y[:4]) for k in range(0, 16, 4)]
        path = self.work / "calibration.npz"
        cormorant.save_calibration(loader, path, samples=14)
        np.testing.assert_array_equal(np.load(path)["x"], self.samples[:14])
        by_loader = cormorant.compile(self.zoo / "digits.pt2", calibration=loader, link=False)
        by_array = cormorant.compile(self.zoo / "digits.pt2", calibration=self.samples[:16], link=False)
        self.assertEqual(by_loader.bytes, by_array.bytes)
        with self.assertRaisesRegex(cormorant.UsageError, "calibration data cannot be a int"):
            cormorant.save_calibration(3, path)

    def test_warnings_of_bad_calibration(self):
        bad = cormorant.compile(self.zoo / "digits.pt2", calibration=(self.samples * 255).astype(np.uint8), link=False)
        self.assertIn("pixels", " ".join(bad.warnings))
        self.assertEqual([w for w in self.digits.warnings if "calibration" in w], [])
        with self.assertRaises(cormorant.InputError) as caught:  # what may explain the error
            cormorant.compile(self.zoo / "digits.pt2", calibration=self.samples[:1], min_sqnr=99, link=False)
        self.assertIn("only 1 calibration sample", " ".join(caught.exception.warnings))

    def test_open_sizes_are_the_programs(self):
        linear = cormorant.compile(SOURCE / "formats/pt2/testdata/dynamic.pt2", shape={"input": (5, 2)}, link=False)
        evaluation = linear.evaluate(np.ones((3, 5, 2), np.float32))
        self.assertEqual((evaluation.samples, evaluation.notes), (3, []))

    def test_report_and_repr(self):
        report = self.digits.report()
        self.assertIn("<!DOCTYPE html>", report.html)
        self.assertIn("iframe", report._repr_html_())
        report.save(self.work / "report.html")
        self.assertEqual((self.work / "report.html").read_text(), report.html)
        self.assertIn("cortex-m55", repr(self.digits))
        self.assertTrue(self.digits.explain()["nodes"])

    def test_models_by_name_are_those_of_the_program(self):
        said = program("compile", "-m", "no-such-model", status=2)
        self.assertIn(f"with PyTorch also {', '.join(cormorant.models.names())}", said)

    def test_the_page_s_example(self):
        text = (SOURCE / "docs/python/digits.py").read_text()
        text = text.replace('"build/', f'"{self.work}/').replace('"zoo/', f'"{SOURCE}/zoo/')
        exec(compile(text, "digits.py", "exec"), {})
        self.assertTrue((self.work / "digits.html").exists())

    def test_options_are_those_of_the_program(self):
        known = set(re.findall(r"--([a-z-]+)", program("compile", "--help")))
        for names, _, about in _core.compile_options():
            self.assertTrue(set(names) & known, names)
            self.assertTrue(about)
        self.assertIn("float_layers", cormorant.compile.options())

    def test_stub_names_what_the_module_has(self):
        stub = (pathlib.Path(cormorant.__file__).parent / "_core.pyi").read_text()
        declared = set(re.findall(r"^(?:def|class) (\w+)|^(\w+): ", stub, re.M))
        declared = {name for pair in declared for name in pair if name}
        self.assertEqual(declared - set(dir(_core)) - {"Array", "TensorFacts"}, set())
        public = {name for name in dir(_core) if not name.startswith("_")}
        self.assertEqual(public - declared, set())


if __name__ == "__main__":
    PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
