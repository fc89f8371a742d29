"""`expunge train`: one of the paper's workloads, or a small one, from data to weights."""

import json as json_text
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from ..bars import Bars
from ..errors import ConfigError
from . import loading
from .numbers import WholeNumber
from .output import print_facts, print_json

WorkloadName = Literal[
    "digits-mlp", "mnist-mlp", "cifar10-resnet18", "cifar10-resnet20", "cifar10-vit_tiny", "cifar10-head"
]


def train(
    *,
    workload: WorkloadName = "digits-mlp",
    data_dir: Path | None = None,
    download: bool = False,
    scale: Literal["laptop", "paper"] = "laptop",
    seed: WholeNumber = 0,
    epochs: WholeNumber | None = None,
    steps: WholeNumber | None = None,
    weights: Path | None = None,
    permanent: str | None = None,
    first_stage: Path | None = None,
    forget: Path | None = None,
    device: str = "cpu",
    output: Path = Path("model.safetensors"),
    metrics: Path | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: float = 60.0,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Train a workload's model, and write its weights. The same command gives the same weights.

    Parameters
    ----------
    workload
        Data, model and recipe by name.
    data_dir
        Where the data is (MNIST/raw, cifar-10-batches-bin or -py); default $EXPUNGE_DATA, else ~/.cache/expunge.
    download
        Get what is missing from the published mirrors; size and SHA-256 are checked.
    scale
        "laptop" finishes on two cores; "paper" is the paper's own recipe.
    seed
        Initialisation, order and augmentation.
    epochs
        Instead of the recipe's.
    steps
        Stop after so many steps.
    weights
        Public weights to begin with: of the backbone of a head, or pretrained ones for the ViT.
    permanent
        Samples that will never be recalled: random:0.5, group:NAME, class:LABEL, file:PATH. Training then has two stages,
        and all other options are those of the second.
    first_stage
        With --permanent: where its weights go, or where they are (default: reference.safetensors).
    forget
        A file of sample indices to leave out: training on the retained data alone, which is what unlearning is held against.
    device
        "cpu", "cuda", …
    output
        Where the weights go.
    metrics
        A file of JSON lines, one for each epoch.
    checkpoint
        A file to resume from if the run is interrupted; the result is bit for bit the same.
    checkpoint_every
        Seconds between checkpoints.
    quiet
        No progress.
    json
        Print one JSON object.
    """
    from .. import weights as weight_files
    from .. import workloads

    loading.destination("output", output)
    changes: dict[str, Any] = {
        name: value for name, value in (("epochs", epochs), ("steps", steps)) if value is not None
    }
    if first_stage is not None and permanent is None:
        raise ConfigError(
            "--first-stage belongs to training in two stages: name the permanent samples with --permanent."
        )
    with ExitStack() as stack:
        bars = _Bars(quiet=quiet or json)
        stack.enter_context(bars)
        place: dict[str, Any] = {"scale": scale, "data_dir": data_dir, "allow_download": download, "weights": weights}
        place |= {"device": loading.device(device), "progress": bars.bytes, "feature_progress": bars.images}
        if permanent is None:
            opened = workloads.open_workload(workload, **place, **changes)
            stream = _stream(opened, forget)
        else:
            opened = _second_stage(workload, permanent, first_stage, place, changes, seed, bars)
            stream = opened.stream(forget and workloads.IndexDeletion.from_file(forget), seed)
        rows: list[dict[str, Any]] = []
        tell = stack.enter_context(_Lines(metrics, rows))
        model = opened.train(
            stream, seed, on_step=bars.step, on_epoch=tell, checkpoint=checkpoint, checkpoint_every=checkpoint_every
        )
    answer = {
        "schema": "expunge.trained/1",
        "workload": workload,
        "scale": scale,
        "seed": seed,
        "samples": len(stream),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "weights": str(output),
        "sha256": {"weights": weight_files.save(model.state_dict(), output), "data": stream.dataset.sha256},
        "last": rows[-1],
        "seconds": round(sum(row["train_seconds"] + row["test_seconds"] for row in rows), 3),
    }
    print_json(answer) if json else _show(answer)


def _second_stage(
    workload: str,
    permanent: str,
    first_stage: Path | None,
    place: dict[str, Any],
    changes: dict[str, Any],
    seed: int,
    bars: "_Bars",
) -> Any:
    """The workload in two stages, the first of them done now or before."""
    from .. import workloads

    ready = workloads.open_ready(workload, loading.deletion(permanent), second=changes, **place)
    path = first_stage or Path("reference.safetensors")
    if not path.exists():
        loading.destination("first-stage", path)
        ready.save_reference(ready.reference(seed, on_step=bars.step), path, seed)
    return ready.load_reference(path)


def _stream(opened: Any, forget: Path | None) -> Any:
    from .. import workloads

    if forget is None:
        return opened.stream()
    deletion = workloads.IndexDeletion.from_file(forget)
    return opened.stream(workloads.split(opened.dataset, deletion, seed=0).retain)


class _Lines:
    """Keeps every row, and writes it as a line of JSON. A resumed run tells all its rows again, so the file is whole."""

    def __init__(self, path: Path | None, rows: list[dict[str, Any]]) -> None:
        self._path, self._rows, self._file = path, rows, None

    def __enter__(self) -> Callable[[dict[str, Any]], None]:
        if self._path is not None:
            try:
                self._file = self._path.open("w", encoding="utf-8")
            except OSError as error:
                raise ConfigError(f"cannot write {self._path}: {error.strerror or error}. Check the path.") from error
        return self._tell

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _tell(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if self._file is not None:
            print(json_text.dumps(row), file=self._file, flush=True)


class _Bars(Bars):
    """Downloads, features, training."""

    def bytes(self, file: str, done: int, size: int) -> None:
        """A download."""
        self.move(f"download {file}", done, size)

    def images(self, done: int, size: int) -> None:
        """Features."""
        self.move("features", done, size)

    def step(self, step: Any) -> None:
        """Training."""
        self.move("training", step.step, step.steps, f"epoch {step.epoch}  loss {step.loss:.4g}")


def _show(answer: dict[str, Any]) -> None:
    last = answer["last"]
    print_facts(
        [
            ("trained", f"{answer['workload']} ({answer['scale']}), seed {answer['seed']}, {answer['samples']:,} samples"),
            ("parameters", f"{answer['parameters']:,}"),
            ("steps", f"{last['step']} (epoch {last['epoch']})"),
            ("loss", f"{last['loss']:.4g}, over the last epoch"),
            ("accuracy", f"{last['train_accuracy']:.2%} training, {last['test_accuracy']:.2%} test "
             f"({last['test_samples']:,} samples)"),
            ("weights", f"{answer['weights']} (SHA-256 {answer['sha256']['weights']})"),
            ("time", f"{answer['seconds']:.1f} s"),
        ]
    )  # fmt: skip
