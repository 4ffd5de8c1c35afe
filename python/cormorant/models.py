# SPDX-License-Identifier: Apache-2.0
"""Models by ExecuTorch's names for them, exported from torchvision. Needs torch and torchvision."""
from __future__ import annotations

import difflib
import os
from typing import Any, Callable, Dict, List, Tuple, Union

from . import _core

_VISION: Dict[str, Tuple[str, int]] = {  # torchvision's name, and the image's side
    "mv2": ("mobilenet_v2", 224),
    "mv3": ("mobilenet_v3_small", 224),
    "ic3": ("inception_v3", 299),
    "resnet18": ("resnet18", 224),
    "resnet50": ("resnet50", 224),
    "vit": ("vit_b_16", 224),
    "dl3": ("deeplabv3_resnet50", 224),
}


def names() -> List[str]:
    """Names of the models; each also as NAME_untrained, with random weights and without a download."""
    return sorted([*_VISION, *_SMALL])


def is_name(name: str) -> bool:
    return _plain(name) in names()


def export(name: str, path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes the model to a .pt2."""
    try:
        import torch
    except ImportError:
        raise _core.UsageError(f"{name} has to be exported by PyTorch, which is not installed here\n"
                               "  pip install torch torchvision, or give a .pt2") from None
    model, example = _model(name, torch)
    torch.export.save(torch.export.export(model.eval(), (example,)), os.fspath(path))


def _model(name: str, torch: Any) -> Tuple[Any, Any]:
    plain = _plain(name)
    if plain in _SMALL:
        return _SMALL[plain](torch)
    if plain not in _VISION:
        near = difflib.get_close_matches(plain, names(), 1)
        raise _core.UsageError(f"there is no model '{name}'{'; did you mean ' + near[0] + '?' if near else ''}\n"
                               f"  there are {', '.join(names())}")
    try:
        import torchvision
    except ImportError:
        raise _core.UsageError(f"{name} comes from torchvision, which is not installed here\n"
                               "  pip install torchvision, or give a .pt2") from None
    builder, side = _VISION[plain]
    weights = None if plain != name else "DEFAULT"
    find = torchvision.models.get_model
    options = {"weights_backbone": None} if plain == "dl3" and weights is None else {}
    return find(builder, weights=weights, **options), torch.zeros(1, 3, side, side)


def _plain(name: str) -> str:
    return name[: -len("_untrained")] if name.endswith("_untrained") else name


def _linear(torch: Any) -> Tuple[Any, Any]:
    return torch.nn.Linear(3, 3), torch.ones(1, 3)


def _softmax(torch: Any) -> Tuple[Any, Any]:
    return torch.nn.Softmax(dim=-1), torch.ones(2, 2)


_SMALL: Dict[str, Callable[[Any], Tuple[Any, Any]]] = {"linear": _linear, "softmax": _softmax}
