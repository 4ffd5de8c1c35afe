# SPDX-License-Identifier: Apache-2.0
"""PyTorch models on Arm Cortex-M.

    import cormorant

    exported = torch.export.export(model.eval(), (example,))
    program = cormorant.compile(exported, target="cortex-m55", calibration=samples)
    program.run(x)                                     # on the host, with the reference kernels
    program.run(x, target="cortex-m55")                # the same bits on an emulated board
    program.evaluate(x, y)                             # beside the float model
    program.report()                                   # shown in a notebook; .save("report.html")
    program.save("model.pte")

Neither importing nor installing it needs PyTorch; with PyTorch available, exported programs and tensors go in and tensors
come out. Errors have the text that the program `cormorant` prints.
"""
import pathlib as _pathlib

from ._core import BoardFault, Error, InputError, InternalError, UsageError, use_installation as _use_installation
from ._core import version as __version__
from ._calibration import save_calibration
from ._compile import compile, export, load, targets
from ._program import Evaluation, Measurement, Program, Tensor
from ._report import Report
from . import models

_data = _pathlib.Path(__file__).resolve().parent / "data"
if (_data / "lib" / "cormorant" / "target").is_dir():  # a wheel that was built elsewhere brings what boards need
    _use_installation(str(_data))

__all__ = [
    "BoardFault", "Error", "Evaluation", "InputError", "InternalError", "Measurement", "Program", "Report", "Tensor",
    "UsageError", "compile", "export", "load", "models", "save_calibration", "targets", "__version__",
]
