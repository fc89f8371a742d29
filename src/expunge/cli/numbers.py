"""Whole numbers as arguments: "2.5" and "3e2" are not rounded to one."""

from collections.abc import Sequence
from typing import Annotated, Literal

from cyclopts import Parameter, Token


def _whole(_: object, tokens: Sequence[Token], *, expected: str = "a whole number") -> int:
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"must be {expected}; got {tokens[0].value!r}.") from None


def _whole_or_best(_: object, tokens: Sequence[Token]) -> int | str:
    return "best" if tokens[0].value == "best" else _whole(_, tokens, expected='a whole number, or "best"')


WholeNumber = Annotated[int, Parameter(converter=_whole)]
StepCount = Annotated[int | Literal["best"], Parameter(converter=_whole_or_best)]
