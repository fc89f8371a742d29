"""The user's own functions, by name. The library imports their module; it never runs text."""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ConfigError


def function(where: str, name: str, *, folder: Path | None = None) -> Any:
    """The function called `package.module:function`; modules of `folder` (default: the current one) are found."""
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute) or module_name.startswith("."):
        raise ConfigError(f"{where} must be package.module:function; got {name!r}.")
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
        raise ConfigError(f"{where} {name}: module {module_name!r} has no {attribute!r}.")
    found = getattr(module, attribute)
    if not callable(found):
        raise ConfigError(f"{where} {name} is a {type(found).__name__}, not a function.")
    return found


def fingerprint(function: Callable[..., Any]) -> str:
    """SHA-256 of the file a function stands in: what it does has changed when the file has."""
    return hashlib.sha256(Path(inspect.getfile(function)).read_bytes()).hexdigest()


def file_fingerprint(where: str, path: Path) -> str:
    """SHA-256 of a file that the project names."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{where}: cannot read {path}: {error.strerror or error}. Check the path.") from error
