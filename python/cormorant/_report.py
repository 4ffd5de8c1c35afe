# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import html as _html
import os
import pathlib
from typing import Union


class Report:
    """The page of `cormorant compile --report`: one HTML file that needs nothing else. Notebooks show it."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        page = _html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:1px solid #8886" title="report"></iframe>'

    def __repr__(self) -> str:
        return f"<cormorant.Report of {len(self.html)} characters: .save(path), or look at it in a notebook>"
