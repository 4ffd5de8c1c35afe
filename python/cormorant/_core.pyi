# SPDX-License-Identifier: Apache-2.0
# The compiled module. Not for users: the public API, with documentation, is in the other files.
from typing import Callable, Dict, List, Optional, Sequence, Tuple

version: str

class Error(Exception): ...

class InputError(Error):
    """The model or the data is at fault."""

    problem: str
    advice: str
    file: str
    node: str
    source: str
    warnings: List[str]

class UsageError(Error):
    """An argument or option is at fault."""

class BoardFault(Error):
    """The firmware misbehaved on the emulated board."""

class InternalError(Error):
    """A bug in cormorant."""

Array = Tuple[str, Sequence[int], bytes]
TensorFacts = Tuple[str, str, List[int], Optional[float], int]

def use_installation(folder: str) -> None: ...
def compile_options() -> List[Tuple[List[str], bool, str]]: ...
def targets() -> List[str]: ...
def compile(
    arguments: Sequence[str],
    calibration: Optional[Sequence[Tuple[str, Array]]],
    progress: Optional[Callable[[str, int, int], None]],
) -> Compiled: ...

class Program:
    @staticmethod
    def read(path: str) -> Program: ...
    @property
    def bytes(self) -> bytes: ...
    @property
    def has_state(self) -> bool: ...
    @property
    def buffer_bytes(self) -> int: ...
    @property
    def inputs(self) -> List[TensorFacts]: ...
    @property
    def outputs(self) -> List[TensorFacts]: ...
    def run(
        self, samples: Sequence[Sequence[Array]], target: str, steps: int, settings: Dict[str, str]
    ) -> Tuple[List[List[Array]], str]: ...
    def evaluate(
        self, arrays: Sequence[Tuple[str, Array]], float_model: str, target: str, sequence: bool, settings: Dict[str, str]
    ) -> str: ...

class Compiled:
    @property
    def figures(self) -> str: ...
    @property
    def explanation(self) -> str: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def model(self) -> str: ...
    def report(self) -> str: ...
    def program(self) -> Program: ...
    def save(self, path: str, names: bool) -> None: ...
