"""Validation of numbers: one function, one wording. It names the value and the range."""

import math
import operator
from numbers import Real
from typing import SupportsIndex

from ..errors import ConfigError

LARGEST = 1e40  # no honest mechanism lives beyond these, and within them no product or square leaves the floats
SMALLEST = 1e-40
COPY = 2e-3  # of a model's norm: weights that lie nearer to it were made from it


def number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = LARGEST,
    below: float | None = None,
) -> float:
    """`value` as a float, or a ConfigError that says what it is, and what it should have been."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigError(f"{name} must be a number; got {_show(value)}.")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    low = (least is None or result >= least) and (above is None or result > above)
    high = (most is None or result <= most) and (below is None or result < below)
    if not (low and high and math.isfinite(result)):  # a NaN fails every comparison
        raise ConfigError(f"{name} must be {_range(least, above, most, below)}; got {_show(value)}.")
    return result


def distance(name: str, value: object) -> float:
    """A gap: zero, or far enough above it that no product of it underflows (rounded up)."""
    result = number(name, value, least=0.0)
    return max(result, SMALLEST) if result > 0.0 else 0.0


def whole(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """`value` as an int (True, 2.5 and "3" are not)."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise ConfigError(f"{name} must be a whole number; got {_show(value)}.")
    result = operator.index(value)
    if result < least or (most is not None and result > most):
        between = f"at least {least}" + ("" if most is None else f" and at most {most}")
        raise ConfigError(f"{name} must be a whole number, {between}; got {_show(value)}.")
    return result


def probability(name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    return number(name, value, least=1e-300, below=1.0, most=None)


def _show(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge integer"
    return text if len(text) <= 60 else text[:57] + "..."


def _range(least: float | None, above: float | None, most: float | None, below: float | None) -> str:
    parts = [
        f"{word} {bound:g}"
        for word, bound in (("at least", least), ("above", above), ("below", below), ("at most", most))
        if bound is not None
    ]
    return "a finite number" + (", " + " and ".join(parts) if parts else "")
