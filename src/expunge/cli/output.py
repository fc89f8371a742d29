"""How answers look: one JSON object for machines, aligned lines and tables for people."""

import itertools
import json
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..bars import Bars


def print_json(answer: Mapping[str, Any]) -> None:
    """One object on standard output; NaN and Infinity have no place in it."""
    json.dump(answer, sys.stdout, indent=2, allow_nan=False)
    print()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None) -> None:
    """A small right-aligned table, cut to the terminal's width or to `width`."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, width=width).print(table)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Name and value, a line each."""
    facts = list(facts)
    width = max(len(name) for name, _ in facts)
    console = Console(highlight=False)
    for name, value in facts:
        console.print(Text.assemble((f"{name:<{width}}", "dim"), "  ", _printable(value)), soft_wrap=True)


def _printable(text: str) -> str:
    """As much of it as standard output can say: a "≤" on an ASCII terminal must not end a command."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


@contextmanager
def progress_line(what: str, total: int, *, quiet: bool = False) -> Generator[Callable[[object], None]]:
    """A bar on a terminal's standard error, elsewhere a plain line now and then; the function moves it by one."""
    count = itertools.count(1)
    with Bars(quiet=quiet) as bars:
        bars.move(what, 0, total)
        yield lambda _: bars.move(what, next(count), total)


def figure(value: float) -> str:
    """A number as people read it: five significant digits."""
    return f"{value:.5g}"
