# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _core
from . import models as _models
from ._arrays import to_core
from ._calibration import gather
from ._program import Program
from ._progress import callback_of

PathLike = Union[str, "os.PathLike[str]"]


def targets() -> List[str]:
    """The CPUs that programs can be compiled for."""
    return _core.targets()


def compile(model: Any, target: str = "cortex-m55", calibration: Any = None, *,
            progress: Union[bool, Callable[[int, int], None], None] = None, **options: Any) -> Program:
    """Compiles a model to a program for a Cortex-M.

    model        what torch.export.export returns, a mapping of such by method name, the path of a .pt2, a .pte or a
                 graph as text, or a name of cormorant.models
    target       "cortex-m55", "m4", …; see cormorant.targets()
    calibration  representative inputs, which quantize the model to int8: an array or tensor with samples along its first
                 axis, a mapping of them by input name, an iterable of batches (a torch DataLoader: the first entry of
                 each batch, up to 256 samples), or the path of an .npz; for a model with several methods, a mapping of
                 any of these by method name
    progress     a function (done, total) of calibration's samples, True or False; by default notebooks and terminals
                 show what is being done and how much of it

    Further options are those of `cormorant compile`, with underscores: quantize=True, io="int8",
    memory={"dtcm": "64K", "sram": "1M"}, budget={"ram": "64K"}, float_layers=["head"], optimize="size", strict=True,
    shape={"x": (1, 3, 96, 96)}, link=False, report="page.html", …; cormorant.compile.options() lists them. A model with
    several methods becomes one program with all of them, unless method="NAME" chooses one. Raises
    cormorant.InputError where the model or the data is at fault and cormorant.UsageError where an argument is, with the
    text that the program prints.
    """
    folder = None
    if isinstance(model, str) and _models.is_name(model) and not os.path.exists(model):
        folder = tempfile.mkdtemp(prefix="cormorant-")
        path = os.path.join(folder, f"{model}.pt2")
    elif isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
    else:
        folder = tempfile.mkdtemp(prefix="cormorant-")
        path = os.path.join(folder, "model.pt2")
    try:
        return _compile(model, path, folder, target, calibration, progress, options)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _compile(model: Any, path: str, folder: Optional[str], target: str, calibration: Any, progress: Any,
             options: Mapping[str, Any]) -> Program:
    arguments = [f"--target={target}", *_arguments(options)]
    if folder is not None:
        if isinstance(model, str):
            _models.export(model, path)
        else:
            _save(model, path)
    arrays = None
    if isinstance(calibration, (str, os.PathLike)):
        arguments.append(f"--calibrate={os.fspath(calibration)}")
    elif calibration is not None:
        arrays = {
            method: [(name, to_core(array)) for name, array in gather(data, None if _is_whole(data) else 256, names).items()]
            for method, data, names in _by_method(calibration, model, path, options.get("method"))}
    program = Program.of_compiled(_core.compile([*arguments, path], arrays, callback_of(progress)))
    if folder is not None:  # evaluate() compares with the model: it stays as long as the program
        weakref.finalize(program, shutil.rmtree, folder, True)
    return program


def _options() -> Dict[str, str]:
    """Every option of compile(), with a description."""
    return {names[0].replace("-", "_"): about for names, _, about in _core.compile_options()
            if not set(names) & {*_ELSEWHERE, *_PARAMETERS}}


compile.options = _options  # type: ignore[attr-defined]


def load(path: PathLike) -> Program:
    """Reads a .pte or .bpte."""
    path = os.fspath(path)
    methods = _core.method_names(path)
    if len(methods) < 2:
        return Program(_core.Program.read(path, ""))
    return Program.of_methods({name: Program(_core.Program.read(path, name)) for name in methods})


def export(model: Any, example: Any, path: Optional[PathLike] = None) -> Any:
    """torch.export of a module in evaluation mode, saved to `path` if one is given. Needs PyTorch."""
    import torch

    arguments = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    exported = torch.export.export(model.eval(), arguments)
    if path is not None:
        torch.export.save(exported, os.fspath(path))
    return exported


def _save(model: Any, path: str) -> None:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.export.ExportedProgram):
        torch.export.save(model, path)
        return
    if torch is not None and isinstance(model, Mapping) and model and all(
            isinstance(method, torch.export.ExportedProgram) for method in model.values()):
        from torch.export.pt2_archive._package import package_pt2

        package_pt2(path, exported_programs=dict(model))
        return
    if torch is not None and isinstance(model, torch.nn.Module):
        raise _core.UsageError("a module is not a model yet: its shapes are unknown\n"
                               "  export it with an example of its inputs: cormorant.export(module, example)")
    raise _core.UsageError(f"a {type(model).__name__} is not a model\n"
                           "  give what torch.export.export returns, or the path of a .pt2")


def _by_method(calibration: Any, model: Any, path: str, chosen: Optional[str]) -> List[Tuple[str, Any, Optional[Sequence[str]]]]:
    """(method, data, names of its inputs), where "" is the only method, or all."""
    methods = [chosen] if chosen else _core.method_names(path) if os.path.exists(path) else []
    of_methods: Dict[str, Any] = {}
    if isinstance(calibration, Mapping) and (len(methods) > 1 or chosen):
        for key, data in calibration.items():
            method, dot, name = str(key).partition(".")  # METHOD or METHOD.INPUT
            if method in methods and dot:
                of_methods.setdefault(method, {})[name] = data
            elif method in methods:
                of_methods[method] = data
            elif len(methods) > 1:
                raise _core.UsageError(f"there is no method '{method}' for the calibration data '{key}'\n"
                                       f"  the methods are {', '.join(methods)}")
    if not of_methods:
        return [("", calibration, _input_names(model))]
    by_name = model if isinstance(model, Mapping) else {}
    return [("" if chosen else method, data, _input_names(by_name.get(method))) for method, data in of_methods.items()]


def _is_whole(calibration: Any) -> bool:
    return hasattr(calibration, "shape") or isinstance(calibration, Mapping)


def _input_names(model: Any) -> Optional[Sequence[str]]:
    """Of an exported program, to distinguish batches of several inputs from inputs with labels."""
    signature = getattr(model, "graph_signature", None)
    names = getattr(signature, "user_inputs", None)
    return list(names) if names and len(names) > 1 else None


# Options of the command line for what has a place of its own here.
_PARAMETERS = ("model", "target", "calibrate")
_ELSEWHERE = {
    "output": "program.save(path)", "no-names": "program.save(path, names=False)", "json": "program.figures",
    "explain": "program.explain()", "quiet": "progress=False", "bundle": "program.save_bundled(path, x, y)",
    "bundleio": "program.save_bundled(path)",
}


def _arguments(options: Mapping[str, Any]) -> List[str]:
    """Options as on the command line, which interprets them."""
    known = {name: is_flag for names, is_flag, _ in _core.compile_options() for name in names}
    arguments: List[str] = []
    for key, value in options.items():
        name = key.replace("_", "-")
        if value is None:
            continue
        if name in _ELSEWHERE:
            raise _core.UsageError(f"{key} is no option here\n  use {_ELSEWHERE[name]}")
        if isinstance(value, bool):
            if value:
                arguments.append(f"--{name}")
            elif f"no-{name}" in known:
                arguments.append(f"--no-{name}")
            elif name not in known:
                arguments.append(f"--{name}")  # refused, with what may have been meant
        elif name == "shape" and isinstance(value, Mapping):
            arguments.extend(f"--shape={k}={','.join(map(str, v))}" for k, v in value.items())
        elif isinstance(value, Mapping):
            arguments.append(f"--{name}=" + ",".join(f"{k}={v}" for k, v in value.items()))
        elif isinstance(value, (list, tuple)):
            arguments.append(f"--{name}=" + ",".join(map(str, value)))
        else:
            arguments.append(f"--{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return arguments
