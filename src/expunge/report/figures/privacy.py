"""What the promise rests on and what it is worth elsewhere: gaps of coupled pairs, ε over δ, ε over Δ."""

from ..results import Moment, Pair, Results
from ..words import cost, number, percent
from .figure import Axis, Colour, Figure, Mark, Series


def calibration(results: Results) -> list[Figure]:
    """The gap of every pair; its way there; accuracy beside it."""
    if results.calibration is None:
        return []
    pairs = [pair for pair in results.calibration.pairs if pair.gap is not None]
    paths = [pair.trajectory for pair in pairs if len(pair.trajectory) > 1]
    found = [_gaps(pairs, results.calibration.proximity.gap)] if pairs else []
    return [*found, *(_trajectories(paths) if paths else [])]


def _gaps(pairs: list[Pair], bound: float) -> Figure:
    gaps = sorted(pair.gap.total for pair in pairs if pair.gap is not None)
    points = tuple((float(i + 1), gap) for i, gap in enumerate(gaps))
    return Figure(
        name="gaps",
        title="The gap of every pair",
        says=f"{len(gaps)} gaps between {number(gaps[0])} and {number(gaps[-1])}; the bound used is {number(bound)}.",
        x=Axis("pair, sorted by gap"),
        y=Axis("gap", limits=(0.0, 1.12 * max(bound, gaps[-1]))),
        series=(Series("gap", points, "blue", "dots"),),
        marks=(Mark("y", bound, f"Δ = {number(bound)}"),),
    )


def _trajectories(paths: list[tuple[Moment, ...]]) -> list[Figure]:
    steps = [moment.step for moment in paths[0]]
    paths = [path for path in paths if [moment.step for moment in path] == steps]
    single = tuple(
        Series(f"pair {i}", tuple((float(m.step), m.gap.total) for m in path), "blue", quiet=True)
        for i, path in enumerate(paths)
    )
    most = tuple((float(step), max(path[i].gap.total for path in paths)) for i, step in enumerate(steps))
    gap = Figure(
        name="trajectory",
        title="The gap over training",
        says=f"The largest gap goes from {number(most[0][1])} at step {steps[0]} to {number(most[-1][1])} at step "
        f"{steps[-1]}.",
        x=Axis("training step"),
        y=Axis("gap", limits=(0.0, 1.08 * max(value for _, value in most))),
        series=(*single, Series("largest of the pairs", most, "blue")),
    )
    return [gap, *_accuracy(paths, steps)]


def _accuracy(paths: list[tuple[Moment, ...]], steps: list[int]) -> list[Figure]:
    runs: dict[str, tuple[str, Colour]] = {
        "base": ("trained on everything", "blue"),
        "retained": ("trained without the removed data", "orange"),
    }
    if not all("test_accuracy" in m.metrics.get(run, {}) for path in paths for m in path for run in runs):
        return []
    lines = {
        run: [sum(p[i].metrics[run]["test_accuracy"] for p in paths) / len(paths) for i in range(len(steps))]
        for run in runs
    }
    return [
        Figure(
            name="trajectory-accuracy",
            title="Test accuracy over training",
            says=f"At the end {percent(lines['base'][-1])} with the removed data and "
            f"{percent(lines['retained'][-1])} without, on average over the pairs.",
            x=Axis("training step"),
            y=Axis("test accuracy", percent=True),
            series=tuple(
                Series(name, tuple(zip(map(float, steps), lines[run], strict=True)), colour, dashed=run == "retained")
                for run, (name, colour) in runs.items()
            ),
        )
    ]


def privacy(results: Results) -> list[Figure]:
    """ε at every δ, for the same run."""
    if results.curves is None or not results.curves.privacy:
        return []
    curve, promised = tuple(sorted(results.curves.privacy)), results.certificate
    here = (
        ()
        if promised is None
        else (Series("certified", ((promised.guarantee.delta, promised.epsilon),), "orange", "dots"),)
    )
    return [
        Figure(
            name="privacy",
            title="ε over δ",
            says=f"The same run gives ε = {cost(curve[0][1])} at δ = {number(curve[0][0])} and ε = {cost(curve[-1][1])} at "
            f"δ = {number(curve[-1][0])}.",
            x=Axis("δ", log=True),
            y=Axis("ε"),
            series=(Series("this run", curve, "blue"), *here),
        )
    ]


def recertification(results: Results) -> list[Figure]:
    """ε at every Δ, for the same run."""
    if results.curves is None or not results.curves.recertification:
        return []
    curve, promised = tuple(sorted(results.curves.recertification)), results.certificate
    here = (
        ()
        if promised is None
        else (Series("certified", ((promised.proximity.gap, promised.epsilon),), "orange", "dots"),)
    )
    return [
        Figure(
            name="recertification",
            title="ε over Δ",
            says=f"At Δ = {number(curve[0][0])} the run is worth ε = {cost(curve[0][1])}, at Δ = {number(curve[-1][0])} "
            f"ε = {cost(curve[-1][1])}.",
            x=Axis("Δ, distance of trained and retrained model"),
            y=Axis("ε"),
            series=(Series("this run", curve, "blue"), *here),
        )
    ]
