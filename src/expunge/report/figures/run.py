"""What happened during the run: accuracy through noise and recovery, and noise against the weights."""

from collections.abc import Sequence
from itertools import pairwise

from ..results import Phase, Point, Results, Scale
from ..summary import by_name
from ..words import capital, number, percent
from .figure import MOST_ROWS, Axis, Colour, Figure, Mark, Series

PHASES: dict[Phase, str] = {"clean": "Before the noise", "noise": "Through the noise", "fine-tune": "Recovery"}
MOST_LABELS = 8  # blocks whose borders are drawn


def progress(results: Results) -> list[Figure]:
    """Test accuracy, step by step, a figure for each phase on one scale."""
    measured = [point for point in results.progress or () if point.test_accuracy is not None]
    before, figures = results.asked.model.accuracy, list[Figure]()
    for phase, title in PHASES.items():
        points = [point for point in measured if point.phase == phase]
        if points:
            figures.append(_phase(title, phase, points, before, _references(results)))
            before = points[-1].test_accuracy
    return figures


def _phase(title: str, phase: str, points: list[Point], before: float | None, marks: tuple[Mark, ...]) -> Figure:
    path = [(float(point.step), point.test_accuracy or 0.0) for point in points]
    path = path if before is None else [(0.0, before), *path]
    worst = min(value for _, value in path)
    low = f", at the lowest {percent(worst)}" if worst < path[-1][1] and worst < path[0][1] else ""
    borders = _borders(points) if phase == "noise" else ()
    return Figure(
        name=f"progress-{phase}",
        title=title,
        says=f"Test accuracy from {percent(path[0][1])} to {percent(path[-1][1])} in {points[-1].step} steps{low}.",
        x=Axis("step"),
        y=Axis("test accuracy", percent=True, limits=(0.0, 1.0)),
        series=(Series("test accuracy", tuple(path), "blue", "both" if len(path) <= MOST_ROWS else "line"),),
        marks=(*borders, *marks),
    )


def _borders(points: list[Point]) -> tuple[Mark, ...]:
    """Where the next block begins."""
    starts = [points[0], *(after for before, after in pairwise(points) if before.block != after.block)]
    if len(starts) > MOST_LABELS or points[0].block is None:
        return ()
    return tuple(Mark("x", point.step - 0.5, f"block {point.block}") for point in starts)


def _references(results: Results) -> tuple[Mark, ...]:
    found = by_name(results)
    spread = found["retrain"].accuracy("test") if "retrain" in found else None
    return () if spread is None else (Mark("y", spread.mean, "retrained"),)


def signal(results: Results) -> list[Figure]:
    """Norm of the noise beside the norm of the weights."""
    if results.signal is None:
        return []
    found = {"block": results.signal.blocks, "layer": results.signal.layers}
    return [_scales(kind, scales) for kind, scales in found.items() if scales]


def _scales(kind: str, scales: Sequence[Scale]) -> Figure:
    worst = sorted(scales, key=_ratio, reverse=True)
    kept = set(worst[:MOST_ROWS])
    rows = [scale for scale in scales if scale in kept]
    left = f" The {MOST_ROWS} noisiest of {len(scales)} are shown." if len(scales) > MOST_ROWS else ""
    values: dict[str, tuple[Colour, str]] = {"weights, before": ("grey", "weights"), "noise": ("orange", "noise")}
    return Figure(
        name=f"signal-{kind}s",
        title=f"By {kind}",
        says=f"The noise has between {number(_ratio(worst[-1]), 3)} times ({worst[-1].name}) and "
        f"{number(_ratio(worst[0]), 3)} times ({worst[0].name}) the norm of the weights.{left}",
        x=Axis("norm", log=True),
        y=Axis(kind, places=tuple(capital(scale.name) if kind == "block" else scale.name for scale in rows)),
        series=tuple(
            Series(
                name,
                tuple((getattr(s, field), float(i)) for i, s in enumerate(rows) if getattr(s, field) > 0.0),
                colour,
                "dots",
            )
            for name, (colour, field) in values.items()
        ),
    )


def _ratio(scale: Scale) -> float:
    return scale.noise / scale.weights if scale.weights > 0.0 else float("inf")
