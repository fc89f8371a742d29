"""Whole numbers as arguments: "2.5" and "3e2" are not rounded to one."""

from collections.abc import Sequence
from typing import Annotated, Literal

from cyclopts import Parameter, Token


def _whole(_: object, tokens: Sequence[Token]) -> int:
    return int(tokens[0].value)


def _whole_or_best(_: object, tokens: Sequence[Token]) -> int | str:
    return "best" if tokens[0].value == "best" else int(tokens[0].value)


WholeNumber = Annotated[int, Parameter(converter=_whole)]
StepCount = Annotated[int | Literal["best"], Parameter(converter=_whole_or_best)]
