"""From rows (one a seed) to what a table shows: mean and standard deviation of each measure, beside the paper's number."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]
CLOSE = 3.0  # points: further from the paper's number than this is called another result


class Spread(NamedTuple):
    """Over seeds; the deviation of a single one is unknown, not 0."""

    mean: float
    deviation: float | None
    seeds: int


def _accuracy(part: str) -> Callable[[Row], float | None]:
    return lambda row: _percent(_at(row, "audit", "accuracy", part))


def _lowest(row: Row) -> float | None:
    """Test accuracy at its lowest during the noise, as the paper's "Min Acc."."""
    seen = [point["test_accuracy"] for point in row.get("curve") or () if point["phase"] == "noise"]
    return _percent(min(seen, default=None))


def _noise_seconds(row: Row) -> float | None:
    return _at(row, "details", "phases", "noise")


MEASURES: dict[str, tuple[str, Callable[[Row], float | None]]] = {
    "lowest": ("lowest", _lowest),
    "final": ("final", _accuracy("test")),
    "ua": ("UA", lambda row: _percent(_at(row, "audit", "ua"))),
    "retain": ("RA", _accuracy("retain")),
    "test": ("TA, all classes", _accuracy("test")),
    "test_retained_classes": ("TA, retained classes", _accuracy("test_retained_classes")),
    "mia": ("MIA", lambda row: _percent(_at(row, "audit", "mia", "svc_confidence", "efficacy"))),
    "seconds": ("seconds", lambda row: row.get("seconds")),
    "noise_seconds": ("of these noise", _noise_seconds),
    "steps": ("steps", lambda row: row.get("steps")),
}
PERCENT = ("lowest", "final", "ua", "retain", "test", "test_retained_classes", "mia")


def spread(rows: Sequence[Row], measure: str) -> Spread | None:
    """Of one measure over the rows that have it."""
    _, read = MEASURES[measure]
    values = [value for row in rows if (value := read(row)) is not None]
    if not values:
        return None
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def apart(ours: Spread, theirs: Spread) -> str:
    """How two means compare."""
    points = ours.mean - theirs.mean
    size = f"{abs(points):.1f}"
    return "level with" if size == "0.0" else f"{size} points {'above' if points > 0.0 else 'below'}"


def doubt(ours: Spread, theirs: Spread) -> str:
    """What stands against reading anything into the difference of two means; nothing, where the seeds allow it."""
    deviations = [one.deviation for one in (ours, theirs) if one.deviation is not None]
    if apart(ours, theirs) == "level with":
        return ""
    if not deviations:
        return "; one seed"
    return "; the seeds differ by more" if abs(ours.mean - theirs.mean) <= max(deviations) else ""


def agreement(rows: Sequence[Row], paper: Mapping[str, float]) -> dict[str, bool]:
    """For each accuracy that the paper states: is ours within `CLOSE` points of it? A line that diverged has none."""
    failed = all("failed" in row for row in rows)
    found = {name: spread(rows, name) for name in paper if name in PERCENT}
    return {
        name: ours is not None and abs(ours.mean - paper[name]) <= CLOSE
        for name, ours in found.items()
        if ours is not None or failed
    }


def _at(row: Any, *path: str) -> Any:
    for name in path:
        row = row.get(name) if isinstance(row, Mapping) else None
    return row


def _percent(value: float | None) -> float | None:
    return None if value is None else 100.0 * value
