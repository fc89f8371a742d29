"""JSON into frozen dataclasses, whose annotations are the schema. What does not fit is refused with its place.

A field with a default may be absent. A class that says `open=True` belongs to a document of another room: of that, the
report reads what it shows and leaves the rest alone. Everything else refuses fields that it does not know.
"""

import json
import math
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import DataError

LARGEST_FILE = 256 * 2**20
T = TypeVar("T")


class Open:
    """A part of another room's document: fields that the report does not show are left alone."""

    open: ClassVar[bool] = True


def read_json(path: str | Path) -> Any:
    """A file's JSON, without NaN, Infinity, or keys that come twice."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"cannot read {str(path)[:200]!r}: {reason}. Check the path.") from error
    if len(content) > LARGEST_FILE:
        raise DataError(f"{path} is larger than {LARGEST_FILE >> 20} MiB, so it is no results file. Check the path.")
    try:
        return json.loads(content, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {str(error)[:200]}.") from error


def read(kind: type[T], value: object, where: str) -> T:
    """`value` as a `kind`, or a DataError that names the place, what was expected, and what was there."""
    return _read(kind, value, where)


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _record(kind, value, where)
    if origin in (Union, UnionType):
        return _either(arguments, value, where)
    if origin is Literal:
        return _checked(value in arguments, value, where, "one of " + ", ".join(map(repr, arguments)))
    if origin is dict:
        _checked(isinstance(value, dict), value, where, "an object")
        return {name: _read(arguments[1], item, f"{where}.{name}") for name, item in value.items()}
    if origin is tuple:
        return _sequence(arguments, value, where)
    return _scalar(kind, value, where)


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        return float(_checked(number, value, where, "a finite number"))
    if kind is int:
        return _checked(type(value) is int, value, where, "a whole number")
    return _checked(type(value) is kind, value, where, "text" if kind is str else "true or false")


def _either(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """`X | None`, which is the only kind of union here."""
    if value is None and NoneType in kinds:
        return None
    (kind,) = (kind for kind in kinds if kind is not NoneType)
    return _read(kind, value, where)


def _sequence(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    _checked(isinstance(value, (list, tuple)), value, where, "a list")
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(value)
    _checked(len(value) == len(kinds), value, where, f"a list of {len(kinds)}")
    return tuple(_read(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _record(kind: Any, value: Any, where: str) -> Any:
    _checked(isinstance(value, dict), value, where, "an object")
    known = {field.name: field for field in fields(kind)}
    required = [name for name, field in known.items() if field.default is field.default_factory is MISSING]
    if missing := [name for name in required if name not in value]:
        raise DataError(f"{where} lacks {', '.join(missing)}.")
    if not getattr(kind, "open", False):
        for name in value.keys() - known.keys():
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it may have {', '.join(known)}."
            raise DataError(f"{where} has unknown field {name!r:.60}; {hint}")
    kinds = _hints(kind)
    return kind(**{name: _read(kinds[name], value[name], f"{where}.{name}") for name in known if name in value})


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _checked(holds: bool, value: Any, where: str, expected: str) -> Any:
    if not holds:
        raise DataError(f"{where} must be {expected}; got {value!r:.60}.")
    return value


def _no_constant(name: str) -> None:
    raise DataError(f"not valid JSON: {name} is no number that results can have.")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise DataError("not valid JSON: an object names a field twice.")
    return record
