"""What a user names: functions of theirs, files, a device. The library imports their module; it never runs text."""

import difflib
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ConfigError


def function(where: str, name: str, *, folder: Path | None = None, takes: tuple[str, ...] | None = None) -> Any:
    """The function called `package.module:function`; modules of `folder` (default: the current one) are found.

    `takes` are the arguments that it will be called with.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute) or module_name.startswith("."):
        parts = name.strip(".").rpartition(".")
        meant = f" Did you mean {parts[0]}:{parts[2]}?" if parts[0] and not colon else ""
        raise ConfigError(f"{where} must be package.module:function; got {name!r}.{meant}")
    place = str((folder or Path.cwd()).resolve())
    if place not in sys.path and not (folder is None and "" in sys.path):
        sys.path.insert(0, place)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{where} {name}: no module {error.name!r}. Run from the folder it is in, or install it."
        ) from error
    if not hasattr(module, attribute):
        near = difflib.get_close_matches(attribute, dir(module), n=1)
        meant = f"Did you mean {module_name}:{near[0]}?" if near else f"Look into {module.__file__}."
        raise ConfigError(f"{where} {name}: module {module_name!r} has no {attribute!r}. {meant}")
    found = getattr(module, attribute)
    if not callable(found):
        raise ConfigError(
            f"{where} {name} is a {type(found).__name__}, not a function. Name a function that returns it."
        )
    if takes is not None:
        _refuse_other_arguments(where, name, found, takes)
    return found


def _refuse_other_arguments(where: str, name: str, found: Callable[..., Any], takes: tuple[str, ...]) -> None:
    """A call that would fail hours later; what has no signature is left to fail."""
    try:
        signature = inspect.signature(found)
    except ValueError:
        return
    try:
        signature.bind(*takes)
    except TypeError as error:
        called = f"{name.partition(':')[2]}({', '.join(takes)})"
        raise ConfigError(f"{where} {name} takes {signature}, and will be called as {called}. Change it.") from error


def device(name: str) -> str:
    """A device's name, if it is there."""
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device {name!r} is not there ({str(error).splitlines()[0]}). Use cpu.") from error
    return name


def fingerprint(function: Callable[..., Any]) -> str:
    """SHA-256 of the file a function stands in: what it does has changed when the file has."""
    return hashlib.sha256(Path(inspect.getfile(function)).read_bytes()).hexdigest()


def file_fingerprint(where: str, path: Path) -> str:
    """SHA-256 of a file that the project names."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{where}: cannot read {path}: {error.strerror or error}. Check the path.") from error
