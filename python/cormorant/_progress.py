# SPDX-License-Identifier: Apache-2.0
"""The progress of long work: a line that is overwritten in a terminal, an output that is updated in a notebook."""
from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional, Union

Callback = Callable[[int, int], None]
Tasks = Callable[[str, int, int], None]


def text(task: str, done: int, total: int, seconds: float) -> str:
    left = f", about {seconds * (total - done) / done:.0f} s left" if 0 < done < total and seconds > 1 else ""
    return f"{task} {done}/{total}{left}"


class _Notebook:
    def __init__(self, display: Any) -> None:
        self._handle = display({"text/plain": "calibrating"}, raw=True, display_id=True)
        self._start = self._shown = time.monotonic()

    def __call__(self, task: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == 0:
            self._start = now
        if done < total and now - self._shown < 0.2:
            return
        self._shown = now
        self._handle.update({"text/plain": text(task, done, total, now - self._start)}, raw=True)


class _Terminal:
    def __init__(self) -> None:
        self._start = self._shown = time.monotonic()

    def __call__(self, task: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == 0:
            self._start = now
        if done < total and now - self._shown < 0.1:
            return
        self._shown = now
        end = "\r\033[K" if done == total else ""
        sys.stderr.write(f"\r\033[K{text(task, done, total, now - self._start)}{end}")
        sys.stderr.flush()


def _of_calibration(callback: Callback) -> Tasks:
    def tell(task: str, done: int, total: int) -> None:
        if task == "calibrating":
            callback(done, total)

    return tell


def callback_of(progress: Union[bool, Callback, None]) -> Optional[Tasks]:
    """None means: show it in notebooks and terminals. A user's function is told of calibration only."""
    if callable(progress):
        return _of_calibration(progress)
    if progress is False:
        return None
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        from IPython.display import display  # type: ignore[import-not-found]

        return _Notebook(display)
    if progress is True or sys.stderr.isatty():
        return _Terminal()
    return None
