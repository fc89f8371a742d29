"""`expunge calibrate`: coupled training pairs → a proximity file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError
from . import keep as keeping
from . import loading
from .keep import KEEP_SPACES, Keep
from .numbers import WholeNumber
from .output import figure, print_facts, print_json, print_table, progress_line
from .train import WorkloadName


def calibrate(
    *,
    workload: WorkloadName | None = None,
    scale: Literal["laptop", "paper"] = "laptop",
    data_dir: Path | None = None,
    download: bool = False,
    weights: Path | None = None,
    first_stage: Path | None = None,
    epochs: WholeNumber | None = None,
    steps: WholeNumber | None = None,
    device: str = "cpu",
    train: str | None = None,
    dataset: str | None = None,
    deletion: str = "random:0.1",
    pairs: WholeNumber = 10,
    seed: WholeNumber = 0,
    failure: float | None = None,
    safety_factor: float = 1.0,
    design: loading.DesignName | None = None,
    blocks: WholeNumber | None = None,
    keep: Keep | None = None,
    clean_steps: WholeNumber | None = None,
    clean_optimizer: loading.OptimizerName = "sgd",
    clean_lr: float | None = None,
    clean_whiten: WholeNumber = 0,
    clean_loader: str | None = None,
    clean_loss: str | None = None,
    every: WholeNumber | None = None,
    plot: Path | None = None,
    folder: Path | None = None,
    workers: WholeNumber = 1,
    threads: WholeNumber = 1,
    ray: str | None = None,
    output: Path = Path("proximity.json"),
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Measure how far apart trained and retrained models lie, by training coupled pairs, before any request arrives.

    Parameters
    ----------
    workload
        One of ours; or give --train and --dataset.
    scale
        "laptop" finishes on two cores; "paper" is the paper's own.
    data_dir
        Where the workload's data is; default $EXPUNGE_DATA, else ~/.cache/expunge.
    download
        Get what is missing from the published mirrors.
    weights
        Public weights, where the workload begins with some.
    first_stage
        Calibrate the second stage alone, which begins with these weights (of `expunge train --permanent`); the deletion is
        drawn from the revocable samples.
    epochs
        Training epochs, if not the recipe's.
    steps
        Stop after so many training steps.
    device
        Where the workload is trained: "cpu", "cuda", …
    train
        package.module:function(stream, seed) → model, or yielding (step, model, metrics).
    dataset
        package.module:function → the data set it trains on (anything with a length and items).
    deletion
        random:0.1 (a fraction), random:50 (so many), class:5, group:7 (one user's records), file:indices.txt, or your own
        package.module:function(dataset, seed) → indices.
    pairs
        n; they support a failure probability of 1/(n+1) and nothing smaller.
    seed
        Of the base run.
    failure
        ϱ to support, if not the smallest that the pairs support.
    safety_factor
        Widens the gap; recorded as an assumption.
    design
        Also measure the gap per block of this design; of Core, Factor and Head only the gap inside what they keep.
    blocks
        k of that design (default 4; inside a keep-space 1).
    keep
        The options of keep-spaces; with --train they need --clean-loader.
    clean_steps
        Measure after a clean phase of so many steps on retained data.
    clean_optimizer
        Its optimiser; "lbfgs" counts iterations, with a strong Wolfe search.
    clean_lr
        Its learning rate; default 0.01, and 1 for L-BFGS.
    clean_whiten
        Of L-BFGS on a linear head: so many retained samples tell it how long features are in each direction.
    clean_loader
        With --train: package.module:function(stream, seed) → batches of the retained samples.
    clean_loss
        With --train: package.module:function of (model, batch) → scalar; default: cross-entropy.
    every
        Also measure every so many of a workload's training steps (a trajectory).
    plot
        Draw the trajectory to this file (.png, .svg, .pdf).
    folder
        Keep finished runs here, and go on from them after an interruption. Holds trained weights.
    workers
        Processes on this machine.
    threads
        Threads per run; the same everywhere, because sums depend on it to the last bit.
    ray
        Address of a Ray cluster whose nodes share --folder; "auto" finds one.
    output
        Where the proximity file goes.
    quiet
        No progress.
    json
        Print one JSON object.
    """
    _refuse_misuse(
        workload,
        train,
        dataset,
        first_stage,
        every,
        plot,
        clean_steps is not None or design in KEEP_SPACES,
        clean_loader,
    )
    import expunge

    for option, place in (("output", output), ("plot", plot)):
        if place is not None:
            loading.destination(option, place)
    with loading.users_code():
        if workload is not None:
            runner, data, loader, loss = _ours(
                workload, every, first_stage, scale=scale, data_dir=data_dir, allow_download=download, weights=weights,
                device=loading.device(device), **_given(epochs=epochs, steps=steps),
            )  # fmt: skip
        else:
            runner, data = loading.function("train", str(train)), loading.function("dataset", str(dataset))()
            loader = clean_loader and loading.function("clean-loader", clean_loader)
            loss = loading.function("clean-loss", clean_loss) if clean_loss else loading.cross_entropy
        removed = loading.deletion(deletion)
        if first_stage is not None:
            removed = runner.__self__.deletion(removed)
        if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
            raise ConfigError(
                f"--dataset {dataset} must return something with a length and items; got {type(data).__name__}."
            )
        later = {"loss": loss, "loader": loader}
        with progress_line("pairs", pairs, quiet=quiet or json) as advance:
            found = expunge.calibrate(
                runner,
                data,
                removed,
                clean=loading.clean_phase(clean_steps, clean_optimizer, clean_lr, clean_whiten),
                **later,
                pairs=pairs,
                seed=seed,
                failure=failure,
                safety_factor=safety_factor,
                design=None if design is None else keeping.design(design, blocks, keep or Keep()),
                folder=folder,
                workers=workers,
                threads=threads,
                ray=ray,
                on_pair=advance,
            )
    found.save(output)
    print_json(found.to_dict()) if json else _show(found, output)
    if plot is not None:
        expunge.calibration.plot_trajectory(found, plot)


def _refuse_misuse(
    workload: str | None,
    train: str | None,
    dataset: str | None,
    first_stage: Path | None,
    every: int | None,
    plot: Path | None,
    trains_later: bool,
    clean_loader: str | None,
) -> None:
    if (workload is None) == (train is None) or (train is None) != (dataset is None):
        raise ConfigError("give either --workload, or both --train and --dataset.")
    if first_stage is not None and (workload is None or every is not None):
        raise ConfigError("--first-stage is for a --workload in two stages, without --every.")
    if workload is not None and plot is not None and every is None:
        raise ConfigError("--plot draws a trajectory: say with --every how many steps lie between two points.")
    if train is not None and every is not None:
        raise ConfigError("--every is for workloads; your own train yields (step, model, metrics) when it wants to.")
    if train is not None and trains_later != (clean_loader is not None):
        raise ConfigError(
            "with --train, --clean-loader goes with a clean phase (--clean-steps) or a keep-space (--design)."
        )


def _given(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in changes.items() if value is not None}


def _ours(
    name: str, every: int | None, first_stage: Path | None, **options: Any
) -> tuple[Any, Any, Callable[..., Any], Callable[..., Any]]:
    from .. import workloads

    if first_stage is not None:
        second = {name: options.pop(name) for name in ("epochs", "steps") if name in options}
        ready = workloads.open_ready(name, first_stage, second=second, **options)
        return ready.train, ready.workload.dataset, ready.workload.loader, ready.workload.loss
    opened = workloads.open_workload(name, **options)
    return opened.train if every is None else opened.trajectory(every), opened.dataset, opened.loader, opened.loss


def _show(found: Any, output: Path) -> None:
    gaps = sorted(found.gaps)
    if len(found.steps) > 1:
        print_table(("step", "largest gap", "test accuracy, all data", "retained"), _rows(found))
        print()
    print_facts(
        [
            ("proximity", f"{figure(found.proximity.gap)} ({found.proximity.source})"),
            ("gaps", f"{figure(gaps[0])} … {figure(gaps[-1])}, median {figure(gaps[len(gaps) // 2])}"),
            ("what it says", found.summary()),
            *(("assumes", assumption) for assumption in found.proximity.assumptions),
            ("file", str(output)),
        ]
    )


def _rows(found: Any) -> list[tuple[str, ...]]:
    points = zip(*(pair["trajectory"] for pair in found.pairs if "trajectory" in pair), strict=True)
    return [
        (
            str(at[0]["step"]),
            figure(max(point["gap"]["total"] for point in at)),
            *(_accuracy([point["metrics"][run] for point in at]) for run in ("base", "retained")),
        )
        for at in points
    ]


def _accuracy(metrics: list[dict[str, float]]) -> str:
    values = [each["test_accuracy"] for each in metrics if "test_accuracy" in each]
    return f"{sum(values) / len(values):.2%}" if values else "–"
