"""The figures of an experiment's document (expunge.experiment/1)."""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ..figures.figure import COLOURS, Axis, Figure, Mark, Series
from .measures import spread

Document = Mapping[str, Any]


def figures(document: Document) -> list[Figure]:
    """By the kind of experiment."""
    if document["kind"] == "graph":
        return [_graph(document)]
    if document["kind"] == "trajectory":
        return _trajectory(document)
    return [_curves(document, panel) for panel in document["panels"]]


def _graph(document: Document) -> Figure:
    x, y = document["axes"]
    log = document.get("log", "")
    return Figure(
        name=document["name"],
        title=document["title"],
        says=document["claim"],
        x=Axis(x, log="x" in log),
        y=Axis(y, log="y" in log),
        series=tuple(
            Series(label, tuple((a, b) for a, b in points), COLOURS[at % len(COLOURS)], dashed="paper" in label)
            for at, (label, points) in enumerate(document["lines"].items())
        ),
    )


def _trajectory(document: Document) -> list[Figure]:
    pairs = [pair["trajectory"] for pair in document["calibration"]["pairs"] if "failed" not in pair]
    steps = [point["step"] for point in pairs[0]]
    gaps = [[pair[i]["gap"]["total"] for pair in pairs] for i in range(len(steps))]
    accuracies = [
        [
            point["metrics"][run]["test_accuracy"]
            for pair in pairs
            for run in ("base", "retained")
            for point in [pair[i]]
        ]
        for i in range(len(steps))
    ]
    marks = (
        (Mark("y", document["paper"], "the paper's Δ"),)
        if document.get("paper") and max(gaps[-1]) * 3 > document["paper"]
        else ()
    )
    return [
        Figure(
            name=document["name"],
            title=document["title"],
            says=f"The {_largest(len(pairs))} is {max(gaps[-1]):.3g} after {steps[-1]} steps.",
            x=Axis("training step"),
            y=Axis("Δ, mean and range over pairs" if len(pairs) > 1 else "Δ, one pair"),
            series=(_banded("Δ", steps, gaps, "blue"),),
            marks=marks,
        ),
        Figure(
            name=f"{document['name']}-accuracy",
            title=document["title"],
            says="Test accuracy of the coupled runs.",
            x=Axis("training step"),
            y=Axis("test accuracy", percent=True),
            series=(_banded("test accuracy", steps, accuracies, "orange"),),
        ),
    ]


def _largest(pairs: int) -> str:
    return f"largest of {pairs} gaps" if pairs > 1 else "gap of one pair"


def _curves(document: Document, panel: Mapping[str, Any]) -> Figure:
    """Test accuracy through noise and fine-tuning, counted in steps from the first noisy one."""
    lines = [line for line in panel["lines"] if any(row.get("curve") for row in line["rows"])]
    series = [
        _line(line, COLOURS[at % len(COLOURS)], dashed=at >= len(COLOURS) or line["kind"] != "certified")
        for at, line in enumerate(lines)
    ]
    exact = [line for line in panel["lines"] if line["method"] == "retrain"]
    retrained = spread(exact[0]["rows"], "final") if exact else None
    return Figure(
        name=f"{document['name']}-{_plain(panel['title'])}",
        title=panel["title"],
        says=f"Test accuracy through noise and fine-tuning, {panel['title']}: mean and range over seeds.",
        x=Axis("step, noise first", log=True),
        y=Axis("test accuracy", percent=True, limits=(0.0, 1.02)),
        series=tuple(series),
        marks=(Mark("y", retrained.mean / 100.0, "retrained"),) if retrained else (),
    )


def _line(line: Mapping[str, Any], colour: Any, *, dashed: bool) -> Series:
    paths = [_path(row["curve"]) for row in line["rows"] if row.get("curve")]
    steps = sorted(set.intersection(*(set(path) for path in paths)))
    return _banded(line["label"], steps, [[path[step] for path in paths] for step in steps], colour, dashed=dashed)


def _path(curve: Sequence[Mapping[str, Any]]) -> dict[float, float]:
    """Steps of all phases one after another."""
    offset, last, phase = 0, 0, None
    found: dict[float, float] = {}
    for point in curve:
        if point["phase"] != phase:
            offset, phase = last, point["phase"]
        last = offset + point["step"]
        found[float(last)] = point["test_accuracy"]
    return found


def _banded(
    name: str, steps: Sequence[float], values: Sequence[Sequence[float]], colour: Any, *, dashed: bool = False
) -> Series:
    points = tuple((float(step), fmean(at)) for step, at in zip(steps, values, strict=True))
    band = tuple((min(at), max(at)) for at in values) if len(values[0]) > 1 else None
    return Series(name, points, colour, dashed=dashed, band=band)


def _plain(text: str) -> str:
    """As the name of a file."""
    return re.sub(
        r"[^a-z0-9.]+", "-", text.lower().replace("ε", "epsilon").replace("×", "x").replace("δ", "delta")
    ).strip("-")
