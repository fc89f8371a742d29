"""The trajectory of Δ over training with test accuracy below it: choose a checkpoint that has both."""

from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .pair import is_failed
from .result import Calibration, counted

_GAP, _ACCURACY = "#3b6ea5", "#c0562f"


def plot_trajectory(calibration: Calibration, path: str | Path) -> None:
    """Write a picture (format by the file's ending): gap of every pair and their largest; accuracy of both runs."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("plots need matplotlib. Install it: pip install 'expunge[report]'.") from error
    pairs = [pair for pair in calibration.pairs if not is_failed(pair)]
    steps = calibration.steps
    if len(steps) < 2:
        raise ConfigError("there is no trajectory to plot: train must yield (step, model, metrics) on the way.")
    told = all("test_accuracy" in point["metrics"]["retained"] for point in pairs[0]["trajectory"])
    figure = Figure(figsize=(7, 5.2 if told else 3.4), layout="constrained")
    panels = figure.subplots(1 + told, 1, sharex=True, squeeze=False)[:, 0]
    _gaps(panels[0], pairs, steps)
    if told:
        _accuracies(panels[1], pairs, steps)
    panels[-1].set(xlabel="training step", xlim=(0, 1.02 * max(steps)))  # room for the last point
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, loc="lower right")
    figure.suptitle(_title(calibration, len(pairs)), x=0.01, ha="left", fontsize=10)
    try:
        figure.savefig(path, dpi=160)
    except (ValueError, OSError) as error:
        raise ConfigError(f"cannot draw to {path}: {error}. Name a .png, .svg or .pdf.") from error


def _title(calibration: Calibration, drawn: int) -> str:
    count = len(calibration.pairs)
    failed = f", {count - drawn} of them failed and not drawn" if drawn < count else ""
    return f"{counted(count, 'coupled pair')}{failed}"


def _gaps(axes: Any, pairs: list[dict[str, Any]], steps: list[int]) -> None:
    curves = [[0.0] + [point["gap"]["total"] for point in pair["trajectory"]] for pair in pairs]
    steps = [0, *steps]  # a pair begins at one point
    if len(curves) > 1:
        for curve in curves:
            axes.plot(steps, curve, color=_GAP, alpha=0.35, linewidth=1)
    largest = [max(values) for values in zip(*curves, strict=True)]
    axes.plot(steps, largest, color=_GAP, marker=".", label="largest" if len(curves) > 1 else "the pair")
    axes.set(ylabel="Δ as trained", ylim=(0, None))


def _accuracies(axes: Any, pairs: list[dict[str, Any]], steps: list[int]) -> None:
    for run, style, name in (("base", "-", "trained on all data"), ("retained", ":", "without the removed samples")):
        values = [[point["metrics"][run]["test_accuracy"] for point in pair["trajectory"]] for pair in pairs]
        means = [sum(at) / len(at) for at in zip(*values, strict=True)]
        axes.plot(steps, means, style, color=_ACCURACY, marker=".", label=name)
    axes.set(ylabel="test accuracy, mean")
