"""A comparison as a table: mean and standard deviation over seeds, and the gap to retraining."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

Read = Callable[[dict[str, Any]], float | None]


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of some seeds; `gap` is the mean less that of retraining with the same seeds."""

    mean: float
    deviation: float | None
    gap: float | None = None


@dataclass(frozen=True)
class Line:
    """One method: its kind, its largest ε (if it has a guarantee), and a spread for each column that was measured.

    seeds       how many ended well; `failed` of the others did not
    """

    method: str
    kind: str
    epsilon: float | None
    seeds: int
    failed: int
    columns: dict[str, Spread | None]


def _at(*path: str) -> Read:
    """What stands there in a row; nothing, where it was not measured."""

    def read(row: dict[str, Any]) -> float | None:
        found: Any = row
        for name in path:
            found = None if found is None else found.get(name)
        return found

    return read


COLUMNS: dict[str, Read] = {
    "UA": _at("audit", "ua"),
    "RA": _at("audit", "accuracy", "retain"),
    "TA": _at("audit", "accuracy", "test"),
    "TA retained": _at("audit", "accuracy", "test_retained_classes"),
    "MIA": _at("audit", "mia", "svc_confidence", "efficacy"),
    "LiRA": _at("audit", "mia", "lira", "auc"),
    "seconds": _at("seconds"),
    "RTE": _at("relative_seconds"),
    "steps": _at("relative_steps"),
}
GAPS = ("UA", "RA", "TA", "TA retained", "MIA")


def summarise(document: dict[str, Any]) -> list[Line]:
    """A line for the models before unlearning, and one for each method, in the comparison's order."""
    names = dict.fromkeys(row["method"] for row in document["rows"])
    retrained = _rows(document, "retrain")
    before = {"method": "(before)", "kind": "", "guarantee": None}
    originals = [{**row, **before} for row in document["originals"]]
    return [_line(rows, retrained) for rows in (originals, *(_rows(document, name) for name in names))]


def write_csv(document: dict[str, Any], path: str | Path) -> None:
    """A line for each method and seed; rates are fractions."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["method", "kind", "seed", "epsilon", *COLUMNS])
        for row in document["rows"]:
            epsilon = row["guarantee"]["epsilon"] if row["guarantee"] else None
            lines.writerow(
                [row["method"], row["kind"], row["seed"], epsilon, *(read(row) for read in COLUMNS.values())]
            )


def _rows(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in document["rows"] if row["method"] == name]


def _line(rows: Sequence[dict[str, Any]], retrained: Sequence[dict[str, Any]]) -> Line:
    epsilons = [row["guarantee"]["epsilon"] for row in rows if row["guarantee"] is not None]
    columns = {title: _spread(map(read, rows)) for title, read in COLUMNS.items()}
    seeds = {row["seed"] for row in rows if "failed" not in row}
    beside = [row for row in retrained if row["seed"] in seeds]
    for title in GAPS:
        mine, theirs = columns[title], _spread(map(COLUMNS[title], beside))
        if mine is not None and theirs is not None:
            columns[title] = Spread(mine.mean, mine.deviation, mine.mean - theirs.mean)
    failed = sum("failed" in row for row in rows)
    return Line(rows[0]["method"], rows[0]["kind"], max(epsilons, default=None), len(rows) - failed, failed, columns)


def _spread(values: Iterable[float | None]) -> Spread | None:
    found = [value for value in values if value is not None]
    if not found:
        return None
    return Spread(fmean(found), stdev(found) if len(found) > 1 else None)
