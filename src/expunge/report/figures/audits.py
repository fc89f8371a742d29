"""What was measured on the model, beside its rivals: accuracies, attacks, their ROC, and what it all took."""

import math
from collections.abc import Callable

from ..results import Results
from ..summary import ATTACKS, Spread, Summary, by_name, main_method, summaries, test_part
from ..words import label, percent
from .figure import COLOURS, Axis, Colour, Figure, Mark, Series

PARTS: dict[str, tuple[str, Colour]] = {
    "forget": ("removed data", "orange"),
    "retain": ("retained data", "grey"),
    "test": ("test data", "blue"),
    "test_retained_classes": ("test data of retained classes", "blue"),
}


def accuracy(results: Results) -> list[Figure]:
    """A row for each method, a dot for each part of the data."""
    found = [summary for summary in summaries(results) if summary.accuracy("test") or summary.accuracy("forget")]
    parts = ["retain", test_part(found), "forget"]
    series = [_dots(*PARTS[part], found, lambda summary, part=part: summary.accuracy(part)) for part in parts]
    series = [dots for dots in series if dots.points]
    best = {summary.label: spread for summary in found if (spread := summary.accuracy(test_part(found)))}
    if not series:
        return []
    says = ", ".join(f"{name} {percent(spread.mean)}" for name, spread in best.items())
    x = Axis("accuracy", percent=True)
    return [Figure("accuracy", "Accuracy", f"On test data: {says}.", x, _places(found), tuple(series))]


def attacks(results: Results) -> list[Figure]:
    """AUC of every attack on every method, with its confidence interval."""
    found = [s for s in summaries(results) if any(s.attack(name, "auc") for name in ATTACKS)]
    names = [name for name in ATTACKS if any(summary.attack(name, "auc") for summary in found)]
    if not names:
        return []
    series = [
        _dots(ATTACKS[name], colour, found, lambda summary, name=name: summary.attack(name, "auc"))
        for name, colour in zip(names, COLOURS, strict=False)
    ]
    says = ", ".join(f"{s.label} {spread.mean:.2f}" for s in found if (spread := s.attack(names[0], "auc")))
    return [
        Figure(
            name="attacks",
            title="Membership inference",
            says=f"AUC of the attack by {ATTACKS[names[0]]}: {says}.",
            x=Axis("AUC"),
            y=_places(found),
            series=tuple(series),
            marks=(Mark("x", 0.5, "guessing"),),
        )
    ]


def roc(results: Results) -> list[Figure]:
    """True against false positives, on log axes: what counts is the left end."""
    curves = {name: _curves(results, name) for name in ATTACKS}
    name = max(ATTACKS, key=lambda attack: len(curves[attack]))  # of equals the first, which is the strongest
    if not curves[name]:
        return []
    least = min(x for points in curves[name].values() for x, _ in points if x > 0.0)
    low = 10.0 ** math.floor(math.log10(least))
    colours = _colours(results)
    series = [
        Series(label(method), tuple(points), colours[method], "steps", dashed=method == "retrain")
        for method, points in curves[name].items()
    ]
    own = curves[name].get(main_method(results) or "", [])
    reached = max((y for x, y in own if x <= 0.01), default=None)
    return [
        Figure(
            name="roc",
            title=f"ROC of the attack by {ATTACKS[name]}",
            says="The further a curve is above the thin diagonal, the more the attack knows."
            + (
                ""
                if reached is None
                else f" On the unlearned model it finds {percent(reached)} at {percent(0.01, 0)} false alarms."
            ),
            x=Axis("false positive rate", log=True, limits=(low, 1.0)),
            y=Axis("true positive rate", log=True, limits=(low, 1.0)),
            series=(*series, Series("guessing", ((low, low), (1.0, 1.0)), "grey", quiet=True)),
        )
    ]


def cost(results: Results) -> list[Figure]:
    """Time and steps of every method, as a share of retraining's."""
    found, whole = summaries(results), by_name(results).get("retrain")
    if whole is None or whole.seconds is None or len(found) < 2:
        return []
    series = [_dots("time", "blue", found, lambda summary: _share(summary.seconds, whole.seconds))]
    if whole.steps is not None:
        series.append(_dots("steps", "orange", found, lambda summary: _share(summary.steps, whole.steps)))
    says = ", ".join(
        f"{s.label} {percent(share.mean)}" for s in found[:-1] if (share := _share(s.seconds, whole.seconds))
    )
    return [
        Figure(
            name="cost",
            title="Cost against retraining",
            says=f"Time, with retraining as {percent(1.0, 0)}: {says}.",
            x=Axis("share of retraining", percent=True),
            y=_places(found),
            series=tuple(dots for dots in series if dots.points),
            marks=(Mark("x", 1.0, "retraining"),),
        )
    ]


def _places(found: list[Summary]) -> Axis:
    return Axis("method", places=tuple(summary.label for summary in found))


def _dots(name: str, colour: Colour, found: list[Summary], get: Callable[[Summary], Spread | None]) -> Series:
    spreads = [(float(i), spread) for i, summary in enumerate(found) if (spread := get(summary)) is not None]
    wide = any(spread.high > spread.low for _, spread in spreads)
    return Series(
        name,
        tuple((spread.mean, place) for place, spread in spreads),
        colour,
        "dots",
        spread=tuple((spread.mean - spread.low, spread.high - spread.mean) for _, spread in spreads) if wide else None,
    )


def _share(part: Spread | None, whole: Spread | None) -> Spread | None:
    if part is None or whole is None or whole.mean <= 0.0:
        return None
    return Spread(part.mean / whole.mean, part.low / whole.mean, part.high / whole.mean)


def _curves(results: Results, attack: str) -> dict[str, list[tuple[float, float]]]:
    """The first seed's curve of every method that has one."""
    found: dict[str, list[tuple[float, float]]] = {}
    for summary in summaries(results):
        mia = (summary.rows[0].audit.mia if summary.rows[0].audit else None) or {}
        curve = mia[attack].roc if attack in mia else None
        if curve and any(x > 0.0 for x, _ in curve):
            found[summary.method] = sorted(curve)
    return found


def _colours(results: Results) -> dict[str, Colour]:
    names = [summary.method for summary in summaries(results)]
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
