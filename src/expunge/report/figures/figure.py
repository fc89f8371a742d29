"""A figure as data: drawn by the page's script and by matplotlib, and told as a table. One description, three readers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Colour = Literal["blue", "orange", "green", "purple", "sky", "grey"]
COLOURS: tuple[Colour, ...] = ("blue", "orange", "green", "purple", "sky", "grey")
MOST_ROWS = 40  # of a table, and of places on an axis


@dataclass(frozen=True)
class Axis:
    """`places` are the names of 0, 1, … from the top, where the axis has names instead of numbers."""

    label: str
    log: bool = False
    percent: bool = False
    limits: tuple[float, float] | None = None
    places: tuple[str, ...] = ()

    def drawn(self, value: float) -> float:
        """Where a value is drawn: a rate of 0 has no place on a log axis, so it lies on the edge."""
        return max(value, self.limits[0]) if self.log and self.limits else value


@dataclass(frozen=True)
class Series:
    """Points of one name.

    spread   how far left and right of each point its value may lie
    band     the lowest and highest value at each point's x, shaded (by matplotlib only)
    """

    name: str
    points: tuple[tuple[float, float], ...]
    colour: Colour
    shape: Literal["line", "dots", "both", "steps"] = "line"
    dashed: bool = False
    quiet: bool = False  # thin, and neither in the legend nor in the table
    spread: tuple[tuple[float, float], ...] | None = None
    band: tuple[tuple[float, float], ...] | None = None


@dataclass(frozen=True)
class Mark:
    """A line right across the figure, at one value of one axis."""

    axis: Literal["x", "y"]
    at: float
    label: str


@dataclass(frozen=True)
class Table:
    """What a figure shows, in numbers; `note` says what was left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """`name` is that of its files. `says` is what it shows, in a sentence."""

    name: str
    title: str
    says: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()

    def table(self) -> Table:
        """The points by their place, or by their x, with a column for each series that has a name."""
        series, named = [one for one in self.series if not one.quiet], bool(self.y.places)
        found = [{(y if named else x): (x if named else y) for x, y in one.points} for one in series]
        keys, note = thinned(sorted({key for points in found for key in points}))
        value, index = (self.x, self.y) if named else (self.y, self.x)
        rows = [
            (shown(key, index), *(_cell(points, key, one, value) for points, one in zip(found, series, strict=True)))
            for key in keys
        ]
        names = [value.label] if len(series) == 1 else [one.name for one in series]
        return Table((index.label, *names), tuple(rows), note)


def _cell(points: dict[float, float], key: float, series: Series, axis: Axis) -> str:
    """The value at a key; on a staircase, that of the last step up to there."""
    if key not in points and series.shape == "steps":
        key = max((x for x in points if x < key), default=key)
    return shown(points[key], axis) if key in points else ""


def thinned(keys: Sequence[float]) -> tuple[Sequence[float], str]:
    """Not more than a reader can bear; the last is always there."""
    every = -(-len(keys) // MOST_ROWS)
    if every <= 1:
        return keys, ""
    return [*keys[:-1][::every], keys[-1]], f"One row in {every} is shown, and the last."


def shown(value: float, axis: Axis) -> str:
    """A value as a table shows it."""
    if axis.places:
        return axis.places[int(value)]
    return f"{100 * value:.1f} %" if axis.percent else f"{value:.4g}"
