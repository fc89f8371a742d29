"""What a user names on the command line: `package.module:function`, weights, a proximity, a list of indices."""

import importlib
import sys
from pathlib import Path
from typing import Any

from ..accounting import Proximity
from ..accounting.ledger import parse, read_proximity, read_text
from ..errors import ConfigError, DataError


def function(option: str, name: str) -> Any:
    """The function called `package.module:function`; modules of the current folder are found."""
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigError(f"--{option} must be package.module:function; got {name!r}.")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--{option} {name}: no module {error.name!r}. Run from the folder it is in, or install it."
        ) from error
    except AttributeError as error:
        raise ConfigError(f"--{option} {name}: module {module_name!r} has no {attribute!r}.") from error
    if not callable(found):
        raise ConfigError(f"--{option} {name} is a {type(found).__name__}, not a function.")
    return found


def model(factory: str, weights_file: Path) -> Any:
    """A model from its factory, with the weights of a file in it."""
    from .. import weights

    made, state = function("model", factory)(), weights.load(weights_file)
    try:
        made.load_state_dict(state)
    except (RuntimeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise DataError(f"{weights_file} does not fit the model of {factory}: {reason}") from error
    return made


def proximity(value: str) -> Proximity | float:
    """A number, or a proximity file as `expunge calibrate` writes it."""
    try:
        return float(value)
    except ValueError:
        content = parse(read_text(value))
    return read_proximity(content["proximity"] if isinstance(content, dict) and "proximity" in content else content)


def indices(path: Path) -> list[int]:
    """Whole numbers, separated by anything that is not part of one."""
    try:
        return [int(word) for word in read_text(path).decode().replace(",", " ").split()]
    except ValueError as error:
        raise DataError(f"{path} must hold whole numbers (sample indices), and nothing else: {error}.") from error
