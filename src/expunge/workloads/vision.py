"""torchvision and timm, where they are needed and installed (extra `vision`)."""

from importlib import import_module
from typing import Any

import torch

from ..errors import ConfigError


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
        raise ConfigError(
            f"{name} does not fit torch {torch.__version__} ({error}). Install the build that was made for this torch."
        ) from error
