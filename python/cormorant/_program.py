# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._arrays import as_tensor, from_core, is_tensor, to_core, to_numpy
from ._report import Report

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Tensor:
    """An input or output of a program, in PyTorch's logical shape."""

    name: str
    dtype: str  # "f32", "i8", …
    shape: Tuple[int, ...]
    scale: Optional[float] = None  # of integers: real = scale * (integer - zero_point)
    zero_point: int = 0


@dataclass(frozen=True)
class Evaluation:
    """How good a program is on data. None where the data does not say."""

    samples: int
    accuracy: Optional[float]
    float_accuracy: Optional[float]
    agreement: Optional[float]
    sqnr_db: Optional[float]
    outputs: List[Dict[str, Any]] = field(repr=False)
    notes: List[str] = field(default_factory=list)
    confusion: Optional[np.ndarray] = field(default=None, repr=False)


@dataclass(frozen=True)
class Measurement:
    """What one execution on an emulated board took. Cycles are estimated; docs/cycles.md says how."""

    target: str
    isa: str
    instructions: int
    cycles: int
    load_instructions: int
    milliseconds: Optional[float]
    flash_bytes: Dict[str, int]
    ram_bytes: Dict[str, int]
    operators: List[Dict[str, Any]] = field(repr=False)
    outputs: Any = field(repr=False)

    def _repr_html_(self) -> str:
        from html import escape

        total = max(1, self.cycles)
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(str(op['source'] or op['node'] or ''))}</td>"
            f"<td style='text-align:left'><code>{escape(op['name'])}</code></td>"
            f"<td>{op['instructions']:,}</td><td>{op['cycles']:,}</td><td>{100 * op['cycles'] / total:.1f} %</td></tr>"
            for op in self.operators)
        time = f", {self.milliseconds:.3f} ms" if self.milliseconds is not None else ""
        return (f"<p>{escape(self.target)}, {escape(self.isa)}: {self.instructions:,} instructions, about "
                f"{self.cycles:,} cycles{time}</p><table><tr><th>layer</th><th>operator</th><th>instructions</th>"
                f"<th>cycles</th><th>share</th></tr>{rows}</table>")


class Program:
    """A compiled program, from `cormorant.compile` or `cormorant.load`.

    Of a program with several methods, `methods` has each as a Program that can be run by itself; all are in the same
    bytes, and sizes of the whole are what all of them need together.
    """

    def __init__(self, core: _core.Program, compiled: Optional[_core.Compiled] = None, index: int = 0) -> None:
        self._core: Optional[_core.Program] = core
        self._compiled = compiled
        self._index = index
        self._methods: Dict[str, Program] = {}
        self._whole: Optional[Program] = None
        self.figures: Dict[str, Any] = json.loads(compiled.figures_of(index)) if compiled else {}
        self.warnings: List[str] = list(compiled.warnings(index)) if compiled else []
        self._inputs = [_tensor(t) for t in core.inputs]
        self._outputs = [_tensor(t) for t in core.outputs]

    @classmethod
    def of_compiled(cls, compiled: _core.Compiled) -> Program:
        """What the compiler gave: one method, or several."""
        names = compiled.methods
        if not names:
            return cls(compiled.program(0), compiled)
        whole = cls.of_methods({name: cls(compiled.program(i), compiled, i) for i, name in enumerate(names)})
        whole._compiled = compiled
        for method in whole._methods.values():
            method._whole = whole  # whose model evaluate() compares with
        whole.figures = json.loads(compiled.figures)
        whole.warnings = [f"method {name}: {text}" for name, method in whole._methods.items() for text in method.warnings]
        return whole

    @classmethod
    def of_methods(cls, methods: Mapping[str, Program]) -> Program:
        """One program of several methods, which share their bytes."""
        whole = cls.__new__(cls)
        whole._core = whole._compiled = whole._whole = None
        whole._index = 0
        whole._methods = dict(methods)
        whole.figures, whole.warnings = {}, []
        return whole

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def methods(self) -> Dict[str, Program]:
        """The methods of a program that has several, by name, each of which runs by itself; empty if there is only one."""
        return dict(self._methods)

    @property
    def inputs(self) -> List[Tensor]:
        self._require_one("inputs")
        return self._inputs

    @property
    def outputs(self) -> List[Tensor]:
        self._require_one("outputs")
        return self._outputs

    @property
    def bytes(self) -> bytes:
        """The .pte itself."""
        return next(iter(self._methods.values())).bytes if self._methods else self._only("bytes").bytes

    @property
    def has_state(self) -> bool:
        """Whether an execution depends on those before it."""
        return self._only("has_state").has_state

    @property
    def buffer_bytes(self) -> int:
        """What firmware keeps of a stream to continue it later (`cormorant_save`); 0 without state."""
        return self._only("buffer_bytes").buffer_bytes

    @property
    def target(self) -> str:
        return self._figure("target")

    @property
    def isa(self) -> str:
        return self._figure("isa")

    @property
    def operators(self) -> Dict[str, int]:
        """How often each operator is in the program."""
        return self._figure("operators")

    @property
    def float_operators(self) -> List[Dict[str, str]]:
        """Operators that stay in float, each with the reason."""
        return self._figure("float_operators")

    @property
    def macs(self) -> int:
        return self._figure("macs")

    @property
    def model_bytes(self) -> int:
        """Flash for the program file."""
        return len(self.bytes)

    @property
    def constant_bytes(self) -> int:
        return self._figure("constant_bytes")

    @property
    def arena_bytes(self) -> Dict[str, int]:
        """RAM for tensors, by region."""
        return self._figure("arena_bytes")

    @property
    def state_bytes(self) -> Optional[int]:
        """RAM that the runtime needs besides the arena; None for no particular CPU, or ExecuTorch's runtime."""
        return self._figure("state") if self._methods else self._figure("firmware")["state"]

    @property
    def stack_bytes(self) -> Optional[int]:
        """The stack bound; None if no firmware was linked."""
        if self._methods:
            return self._figure("stack")
        bound = self._figure("firmware")["stack_bound"]
        return bound["bytes"] if bound else None

    @property
    def code_bytes(self) -> Optional[int]:
        """Flash for code; None if no firmware was linked."""
        return self._figure("code") if self._methods else self._figure("firmware")["code"]

    @property
    def flash_bytes(self) -> Optional[int]:
        """Program and code."""
        return None if self.code_bytes is None else self.model_bytes + self.code_bytes

    @property
    def ram_bytes(self) -> Optional[int]:
        """Arena, state and stack."""
        if self.state_bytes is None or self.stack_bytes is None:
            return None
        return sum(self.arena_bytes.values()) + self.state_bytes + self.stack_bytes

    def explain(self) -> Dict[str, Any]:
        """What became of every node, as in `cormorant compile --explain --json`."""
        return json.loads(self._made_here("explain()").explanation(self._index))

    def report(self) -> Report:
        """The page of `cormorant compile --report`; notebooks show it."""
        return Report(self._made_here("report()").report(self._index))

    def save(self, path: PathLike, names: bool = True) -> None:
        """Writes the .pte, and next to it the names for profiles."""
        if self._compiled is not None:
            self._compiled.save(os.fspath(path), names)
        else:
            with open(path, "wb") as file:
                file.write(self.bytes)

    def save_bundled(self, path: PathLike, x: Any = None, y: Any = None) -> None:
        """Writes a bundled program (.bpte): the program with its own test, which `cormorant run` checks.

        `x` and `y` are as for evaluate(), with one test case per sample: without `y`, what the reference kernels compute
        is expected, and without `x` there is one case with random inputs. For a program with several methods they are
        mappings of such by method name.
        """
        methods = self._methods or {"": self}
        if self._methods:
            for what in (x, y):
                _require_methods(what, self._methods)
        bundled = []
        for name, method in methods.items():
            of_x, of_y = (None if what is None else what.get(name) if self._methods else what for what in (x, y))
            if of_x is None and of_y is not None:
                raise _core.UsageError("there are outputs without inputs\n  give x, of which y is expected")
            arrays = None if of_x is None else [(key, to_core(array)) for key, array in _samples(of_x, of_y).items()]
            bundled.append((method._only("save_bundled()"), arrays))
        _core.write_bundled(os.fspath(path), bundled)

    # ---- what it does ------------------------------------------------------------------------------------------------

    def run(self, *inputs: Any, target: str = "host", sequence: bool = False, timeout: float = 60, board: str = "",
            compiler: str = "gcc", **named: Any) -> Any:
        """Executes the program and returns its output.

        Inputs are arrays or tensors in the model's shape, in order or by name; those left out are zero. With N samples
        along the first axis, where the model has 1, all of them are executed and the outputs have N. With
        `sequence=True` the first axis counts steps of the whole shape, along which state is kept.

        `target="host"` is this process with the reference kernels; a CPU is the emulated board of it, with the same
        bits. One output comes as it is, several as a tuple, or as a dictionary where they have names. Tensors in,
        tensors out.
        """
        settings = {"timeout": str(timeout), "board": board, "compiler": compiler}
        return self._execute(inputs, named, target, sequence, settings)[0]

    __call__ = run

    def measure(self, *inputs: Any, target: Optional[str] = None, clock: Optional[str] = None, timeout: float = 600,
                board: str = "", compiler: str = "gcc", **named: Any) -> Measurement:
        """Instructions and estimated cycles per operator of one execution on an emulated board.

        `target` is the CPU that the program was compiled for unless another is named; `clock` such as "160MHz" gives
        milliseconds too. Inputs as for run(); without them, zeros.
        """
        settings = {"timeout": str(timeout), "board": board, "compiler": compiler, "profile": "1"}
        if clock is not None:
            settings["clock"] = clock
        outputs, figures = self._execute(inputs, named, target or self.target, False, settings)
        return Measurement(
            target=figures["target"], isa=figures["isa"], instructions=figures["instructions"]["execute"],
            cycles=figures["cycles"]["execute"], load_instructions=figures["instructions"]["load"],
            milliseconds=figures.get("milliseconds", {}).get("execute"), flash_bytes=figures["flash"],
            ram_bytes=figures["ram"], operators=figures["operators"], outputs=outputs)

    def evaluate(self, x: Any, y: Any = None, *, reference: Optional[PathLike] = None, target: str = "host",
                 sequence: bool = False, compiler: str = "gcc") -> Evaluation:
        """Accuracy on labelled data, and how close it is to the float model.

        `x` has samples along its first axis; a mapping gives several inputs by name. `y` are classes (of any type, or
        one-hot), expected values, or a mapping y0, y1, … for several outputs. The float model is the one that was
        compiled, or the .pt2 that `reference` names ("" for none).
        """
        own = self._compiled.model if self._compiled is not None else ""
        model = own if reference is None else os.fspath(reference)
        scores = json.loads(self._only("evaluate()").evaluate(
            [(name, to_core(array)) for name, array in _samples(x, y).items()], model, target, sequence,
            {"compiler": compiler}))
        confusion = scores.get("confusion")
        return Evaluation(
            samples=scores["samples"], accuracy=scores["accuracy"], float_accuracy=scores["float_accuracy"],
            agreement=scores["agreement"], sqnr_db=scores["sqnr_db"], outputs=scores["outputs"], notes=scores["notes"],
            confusion=None if confusion is None else np.array(confusion))

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _figure(self, name: str) -> Any:
        if not self.figures:
            raise _core.UsageError(f"{name} is unknown for a program that was not compiled here\n  compile the model, or measure() it")
        if name not in self.figures:
            self._require_one(name)
        return self.figures[name]

    def _made_here(self, what: str) -> _core.Compiled:
        self._require_one(what)
        if self._compiled is None:
            raise _core.UsageError("this program was not compiled here\n  compile its model")
        return self._compiled

    def _require_one(self, what: str) -> None:
        if self._methods:
            names = list(self._methods)
            raise _core.UsageError(f"{what} is of one method, and this program has {len(names)}: {', '.join(names)}\n"
                                   f"  choose one: program.methods[\"{names[0]}\"]")

    def _only(self, what: str) -> _core.Program:
        self._require_one(what)
        assert self._core is not None
        return self._core

    def _arrange(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> List[Any]:
        names = [t.name for t in self.inputs]
        if len(inputs) > len(names):
            raise _core.UsageError(f"{len(inputs)} inputs are given, but the program has {len(names)}: {', '.join(names)}")
        by_index: Dict[int, Any] = dict(enumerate(inputs))
        for name, value in named.items():
            if name not in names:
                raise _core.UsageError(f"there is no input '{name}'\n  the inputs are {', '.join(names)}")
            if names.index(name) in by_index:
                raise _core.UsageError(f"input '{name}' is given twice")
            by_index[names.index(name)] = value
        return [by_index.get(i) for i in range(len(names))]

    def _execute(self, inputs: Sequence[Any], named: Mapping[str, Any], target: str, sequence: bool,
                 settings: Dict[str, str]) -> Tuple[Any, Dict[str, Any]]:
        core = self._only("an execution")
        arranged = self._arrange(inputs, named)
        tensors_in = any(is_tensor(value) for value in arranged)
        arrays = [None if value is None else to_numpy(value) for value in arranged]
        count, is_batch = 1, False
        for array, tensor in zip(arrays, self.inputs):
            if array is None:
                continue
            shape = tensor.shape
            rest = array.shape[1:]
            if sequence or (array.shape != shape and array.ndim and
                            (rest == shape or (shape[:1] == (1,) and rest == shape[1:] and array.shape != shape[1:]))):
                if is_batch and array.shape[0] != count:
                    raise _core.InputError(f"input '{tensor.name}' has {array.shape[0]} samples, but others have {count}")
                count, is_batch = array.shape[0], True
        samples = []
        for k in range(count):
            sample = []
            for array, tensor in zip(arrays, self.inputs):
                if array is None:
                    array = np.zeros(tensor.shape, _dtype(tensor))
                    sample.append(to_core(array))
                else:
                    sample.append(to_core(array[k] if is_batch else array))
            samples.append(sample)
        steps = count if sequence else 1
        results, figures = core.run(samples, target, max(1, steps), settings)
        outputs = []
        for i, tensor in enumerate(self.outputs):
            each = [from_core(result[i]) for result in results]
            if sequence:
                whole = np.stack(each)
            elif is_batch:
                whole = np.concatenate(each) if tensor.shape[:1] == (1,) else np.stack(each)
            else:
                whole = each[0]
            outputs.append(as_tensor(whole) if tensors_in else whole)
        names = [t.name for t in self.outputs]
        if len(outputs) == 1:
            return outputs[0], json.loads(figures)
        has_names = all(names) and len(set(names)) == len(names)
        return (dict(zip(names, outputs)) if has_names else tuple(outputs)), json.loads(figures)

    def __repr__(self) -> str:
        def ports(tensors: Sequence[Tensor]) -> str:
            return ", ".join(f"{t.name or '?'}: {t.dtype}{list(t.shape)}" for t in tensors)

        if self._methods:
            known = f" for {self.target} ({self.isa})" if self.figures else ""
            return f"<cormorant.Program{known} with the methods {', '.join(self._methods)}; {self.model_bytes:,} bytes>"
        known = f" for {self.target} ({self.isa}), {self.macs:,} MACs" if self.figures else ""
        ram = f", arena {sum(self.arena_bytes.values()):,} bytes" if self.figures else ""
        return f"<cormorant.Program{known}: {ports(self.inputs)} -> {ports(self.outputs)}; {self.model_bytes:,} bytes{ram}>"


def _samples(x: Any, y: Any) -> Dict[str, Any]:
    """Inputs by name, and what is expected of them."""
    arrays = dict(x) if isinstance(x, Mapping) else {"x": x}
    if y is not None:
        arrays.update(y if isinstance(y, Mapping) else {"y": y})
    return arrays


def _require_methods(data: Any, methods: Mapping[str, Program]) -> None:
    if data is None:
        return
    if not isinstance(data, Mapping) or not set(data) <= set(methods):
        raise _core.UsageError(f"data for a program with several methods is a mapping by method name\n"
                               f"  the methods are {', '.join(methods)}")


def _tensor(facts: _core.TensorFacts) -> Tensor:
    name, dtype, shape, scale, zero_point = facts
    return Tensor(name, dtype, tuple(shape), scale, zero_point)


def _dtype(tensor: Tensor) -> np.dtype:
    from ._arrays import _TYPES

    return _TYPES[tensor.dtype]
