"""A TOML document → frozen dataclasses, strictly: what is unknown, missing or of another type is an error that says so."""

import difflib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import ConfigError, DataError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

Table = TypeVar("Table")
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def parse(path: Path) -> dict[str, Any]:
    """The file's tables."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {path}: {reason}. `expunge init` writes a project file.") from error
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is not valid TOML: {error}.") from error


def read(kind: type[Table], values: object, table: str) -> Table:
    """One table as its dataclass, whose own checks come last."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"{table} must be a table, written [{table}]; got {values!r:.60}.")
    known = {_key(field): field for field in fields(kind)}  # pyright: ignore[reportArgumentType]
    hints = get_type_hints(kind)
    for key in values:
        if key not in known:
            raise ConfigError(f"[{table}] has no key {key!r}. {suggestion(key, known)}")
    for key, field in known.items():
        if key not in values and field.default is MISSING:
            raise ConfigError(f"[{table}] needs {key} ({_expected(hints[field.name])}), and it is not there. Add it.")
    given = {known[key].name: _fitting(table, key, value, hints[known[key].name]) for key, value in values.items()}
    try:
        return kind(**given)
    except ConfigError as error:
        raise ConfigError(f"[{table}] {error}") from error


def suggestion(key: str, known: Iterable[str]) -> str:
    """The name that was probably meant, or all there are."""
    known = list(known)
    near = difflib.get_close_matches(key, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"It may have: {', '.join(known)}."


def _key(field: Field[Any]) -> str:
    """A field's name in the file: Python has no field called `class`."""
    return field.name.rstrip("_")


def _fitting(table: str, key: str, value: object, hint: Any) -> Any:
    if not _fits(value, hint):
        raise ConfigError(f"[{table}] {key} must be {_expected(hint)}; got {value!r:.60}.")
    return tuple(value) if isinstance(value, list) else value


def _fits(value: object, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin is tuple:
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is hint


def _expected(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_expected(one) for one in inner if one is not type(None))
    if origin is Literal:
        return " or ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in inner)
    if origin is tuple:
        return f"a list, each {_expected(inner[0])}"
    return _WORDS[hint]
