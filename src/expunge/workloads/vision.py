"""torchvision and timm, where they are needed and installed (extra `vision`)."""

from importlib import import_module
from typing import Any

import torch

from ..errors import ConfigError

_OPERATORS = ("nms", "qnms")
_fragments: list[torch.library.Library] = []  # an operator exists as long as its library object does


def torchvision() -> Any:
    """The package, or a word on how to get it."""
    return _load("torchvision")


def timm() -> Any:
    """The package, or a word on how to get it."""
    return _load("timm")


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"this workload needs {name} ({error}): pip install 'expunge[vision]'.") from error
    except RuntimeError as error:
        if "operator torchvision::" not in str(error) or _fragments:
            raise ConfigError(
                f"{name} does not fit torch {torch.__version__} ({error}). Install the build that was made for it."
            ) from error
    _declare_operators()
    return _load(name)


def _declare_operators() -> None:
    """Let torchvision be imported without its compiled operators.

    PyPI's torchvision for Linux is built for CUDA, and beside a CPU build of torch its compiled part does not load.
    torchvision means to go on without it, but then describes two operators that do not exist, and fails. The models here
    use neither of them. Declared, they still raise when somebody calls them.
    """
    for name in _OPERATORS:
        fragment = torch.library.Library("torchvision", "FRAGMENT")
        fragment.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _fragments.append(fragment)
