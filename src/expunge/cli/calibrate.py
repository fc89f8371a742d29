"""`expunge calibrate`: coupled training pairs → a proximity file."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError
from . import loading
from .numbers import WholeNumber
from .output import figure, print_facts, print_json, progress_line


def calibrate(
    *,
    workload: str | None = None,
    scale: Literal["laptop", "paper"] = "laptop",
    data_dir: Path | None = None,
    weights: Path | None = None,
    epochs: WholeNumber | None = None,
    train: str | None = None,
    dataset: str | None = None,
    deletion: str = "random:0.1",
    pairs: WholeNumber = 10,
    seed: int = 0,
    failure: float | None = None,
    safety_factor: float = 1.0,
    design: str | None = None,
    blocks: WholeNumber = 4,
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
        One of ours (digits-mlp, mnist-mlp, cifar10-resnet18, …); or give --train and --dataset.
    scale
        "laptop" finishes on two cores; "paper" is the paper's own.
    data_dir
        Where the workload's data lie.
    weights
        Public weights, where the workload begins with some.
    epochs
        Training epochs, if not the recipe's.
    train
        package.module:function(stream, seed) → model, or yielding (step, model, metrics).
    dataset
        package.module:function → the data set it trains on (anything with a length and items).
    deletion
        random:0.1 (a fraction), class:5, or file:indices.txt.
    pairs
        n; they support a failure probability of 1/(n+1) and nothing smaller.
    seed
        Of the base run.
    failure
        ϱ to support, if not the smallest that the pairs support.
    safety_factor
        Widens the gap; recorded as an assumption.
    design
        Also measure the gap per block of this design (Permutation, LayerCycle, …).
    blocks
        k of that design.
    every
        Also measure every so many training steps (a trajectory).
    plot
        Draw the trajectory to this file (.png, .svg, .pdf).
    folder
        Keep finished runs here, and go on from them after an interruption.
    workers
        Processes on this machine.
    threads
        Threads per run; the same everywhere, because sums depend on it to the last bit.
    ray
        Address of a Ray cluster whose nodes share --folder.
    output
        Where the proximity file goes.
    quiet
        No progress.
    json
        Print one JSON object.
    """
    from .. import calibration

    if (workload is None) == (train is None) or (train is None) != (dataset is None):
        raise ConfigError("give either --workload, or both --train and --dataset.")
    if ray is not None and folder is None:
        raise ConfigError("--ray needs --folder, on a file system that all nodes share.")
    if workload is not None:
        settings = _Opened(workload, scale, data_dir, weights, {} if epochs is None else {"epochs": epochs})
        runner: Any = _Training(settings, every)
        data = settings.open().dataset
    else:
        runner, data = loading.function("train", str(train)), loading.function("dataset", str(dataset))()
    with progress_line("pairs", pairs, quiet=quiet or json) as advance:
        found = calibration.calibrate(
            runner,
            data,
            loading.deletion(deletion),
            pairs=pairs,
            seed=seed,
            failure=failure,
            safety_factor=safety_factor,
            design=None if design is None else _design(design, blocks),
            folder=folder,
            workers=workers,
            threads=threads,
            ray=ray,
            on_pair=advance,
        )
    found.save(output)
    if plot is not None:
        calibration.plot_trajectory(found, plot)
    print_json(found.to_dict()) if json else _show(found, output)


@dataclass(frozen=True)
class _Opened:
    """A workload by name, opened in whatever process needs it."""

    name: str
    scale: str
    data_dir: Path | None
    weights: Path | None
    changes: dict[str, Any] = field(hash=False)

    @lru_cache(maxsize=1)  # noqa: B019 (one per process, on purpose)
    def open(self) -> Any:
        from .. import workloads

        options: dict[str, Any] = {"scale": self.scale, "data_dir": self.data_dir, "weights": self.weights}
        return workloads.open_workload(self.name, **options, **self.changes)


@dataclass(frozen=True)
class _Training:
    """A workload's training as calibration calls it, with a trajectory where one is asked for."""

    workload: _Opened
    every: int | None

    def __call__(self, stream: Any, seed: int) -> Any:
        opened, points = self.workload.open(), list[Any]()

        def keep(step: Any) -> None:
            if step.step == step.steps or (self.every and step.step % self.every == 0):
                state = {name: value.detach().clone() for name, value in step.model.state_dict().items()}
                points.append((step.step, state, {"test_accuracy": opened.accuracy(step.model)}))

        model = opened.train(opened.stream(stream.index_map), seed, on_step=keep)
        return [*points[:-1], (points[-1][0], model, points[-1][2])]

    def describe(self) -> dict[str, Any]:
        """For the coupling: the recipe, and how often it was looked at."""
        return {"workload": self.workload.name, "recipe": self.workload.open().recipe.describe(), "every": self.every}


def _design(name: str, blocks: int) -> Any:
    from .. import subspaces

    return subspaces.from_description({"kind": name, **({} if name in ("Whole", "HeadBody") else {"k": blocks})})


def _show(found: Any, output: Path) -> None:
    gaps = sorted(found.gaps)
    print_facts(
        [
            ("proximity", f"{figure(found.proximity.gap)} ({found.proximity.source})"),
            ("gaps", f"{figure(gaps[0])} … {figure(gaps[-1])}, median {figure(gaps[len(gaps) // 2])}"),
            ("what it says", found.summary()),
            ("file", str(output)),
        ]
    )
