"""The trajectory of Δ over training with test accuracy beside it: choose a checkpoint that has both."""

from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .calibrate import Calibration
from .pair import is_failed


def plot_trajectory(calibration: Calibration, path: str | Path) -> None:
    """Write a picture (format by the file's ending): gap of every pair and their largest; accuracy of both runs."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("plots need matplotlib. Install it: pip install 'expunge[report]'.") from error
    pairs = [pair for pair in calibration.pairs if not is_failed(pair) and len(pair["trajectory"]) > 1]
    if not pairs:
        raise ConfigError("there is no trajectory to plot: train must yield (step, model, metrics) on the way.")
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    steps = [point["step"] for point in pairs[0]["trajectory"]]
    curves = [[point["gap"]["total"] for point in pair["trajectory"]] for pair in pairs]
    for curve in curves:
        axes.plot(steps, curve, color="#3b6ea5", alpha=0.35, linewidth=1)
    axes.plot(
        steps, [max(values) for values in zip(*curves, strict=True)], color="#3b6ea5", label="Δ, largest of the pairs"
    )
    axes.set(xlabel="training step", ylabel="Δ", xlim=(0, max(steps)), ylim=(0, None))
    handles, labels = axes.get_legend_handles_labels()
    if all("test_accuracy" in point["metrics"]["retained"] for point in pairs[0]["trajectory"]):
        beside = axes.twinx()
        for run, style in (("base", "-"), ("retained", ":")):
            accuracy = [_mean(pairs, place, run) for place in range(len(steps))]
            beside.plot(steps, accuracy, style, color="#c0562f", label=f"test accuracy, {run} runs")
        beside.set(ylabel="test accuracy", ylim=(None, 1))
        more, names = beside.get_legend_handles_labels()
        handles, labels = handles + more, labels + names
    axes.legend(handles, labels, frameon=False, loc="lower right")
    axes.set_title(f"{len(calibration.pairs)} coupled pairs", loc="left", fontsize=10)
    figure.savefig(path, dpi=160)


def _mean(pairs: list[dict[str, Any]], place: int, run: str) -> float:
    values = [pair["trajectory"][place]["metrics"][run]["test_accuracy"] for pair in pairs]
    return sum(values) / len(values)
