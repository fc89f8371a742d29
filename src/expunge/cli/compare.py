"""`expunge compare`: many methods and seeds, from the same trained models, held against retraining."""

import json as json_text
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from ..accounting import Accountant
from ..errors import ConfigError
from . import loading
from .numbers import WholeNumber
from .output import figure, print_facts, print_json, print_table, progress_line
from .train import WorkloadName

WIDE = 200  # a terminal wraps what it cannot show; nothing is cut


def compare(
    *,
    workload: WorkloadName = "digits-mlp",
    deletion: str = "random:0.1",
    methods: str = "all",
    without: str | None = None,
    seeds: WholeNumber = 1,
    epsilon: float = 10.0,
    delta: float = 1e-5,
    proximity: str = "calibrated",
    pairs: WholeNumber = 10,
    accountant: Accountant = "gaussian",
    scale: Literal["laptop", "paper"] = "laptop",
    epochs: WholeNumber | None = None,
    data_dir: Path | None = None,
    weights: Path | None = None,
    set: list[str] | None = None,
    shadows: WholeNumber = 1,
    simulate: bool = False,
    device: str = "cpu",
    folder: Path | None = None,
    workers: WholeNumber = 1,
    ray: str | None = None,
    output: Path = Path("comparison.json"),
    csv: Path | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Compare ways to unlearn: cost, accuracy and attacks, each from the same trained model and against retraining.

    Parameters
    ----------
    workload
        Data, model and recipe by name.
    deletion
        random:0.1 (a fraction; another one for each seed), class:5, or file:indices.txt.
    methods
        all, or names with commas. retrain, from_public and output_perturbation always come along.
    without
        Names with commas to leave out, the honest baselines too.
    seeds
        How many: 0, 1, …
    epsilon
        ε of the certified methods.
    delta
        δ of the certified methods.
    proximity
        Δ: a proximity file, a number, or "calibrated": measured now, from coupled pairs with seeds of their own.
    pairs
        How many pairs, where it is calibrated.
    accountant
        "gaussian" is exact; "renyi" is the paper's.
    scale
        "laptop" finishes on two cores; "paper" is the paper's own recipe.
    epochs
        Training epochs, if not the recipe's.
    data_dir
        Where the data is; default $EXPUNGE_DATA, else ~/.cache/expunge.
    weights
        Public weights to begin with: of the backbone of a head, or pretrained ones for the ViT.
    set
        METHOD.FIELD=VALUE, a hyper-parameter to set otherwise (salun.lr=0.1, output_perturbation.fine_tune.steps=500).
    shadows
        More retrained models for each seed, for the attacks that need some (LiRA, RMIA).
    simulate
        Noise from the seed: the same numbers every time. Its certificates do not verify.
    device
        "cpu", "cuda", …
    folder
        Where finished cells are kept, so that the same command goes on after an interruption; default: beside --output.
    workers
        Processes on this machine. Times are then those of methods beside each other.
    ray
        Address of a Ray cluster whose nodes share --folder.
    output
        Where the comparison goes (JSON).
    csv
        Also as a table: a line for each method and seed.
    quiet
        No progress.
    json
        Print the comparison as one JSON object.
    """
    from .. import experiments

    loading.destination("output", output)
    if csv is not None:
        loading.destination("csv", csv)
    place = folder or output.with_suffix(".cells")
    request = experiments.Request(
        workload=workload,
        deletion=loading.deletion(deletion),
        epsilon=epsilon,
        delta=delta,
        proximity=0.0 if proximity == "calibrated" else loading.proximity(proximity),
        seeds=tuple(range(seeds)),
        methods=None if methods == "all" else _names(methods),
        without=_names(without or ""),
        scale=scale,
        accountant=accountant,
        simulate=simulate,
        shadows=shadows,
        data_dir=data_dir,
        weights=weights,
        device=loading.device(device),
        changes={} if epochs is None else {"epochs": epochs},
        settings=_settings(set or []),
    )
    with Stages(quiet=quiet or json) as tell:
        if proximity == "calibrated":
            request = experiments.calibrated(request, place, pairs=pairs, workers=workers, ray=ray, progress=tell)
        command = shlex.join(["expunge", *sys.argv[1:]])
        document = experiments.compare(request, place, workers=workers, ray=ray, command=command, progress=tell)
    output.write_text(json_text.dumps(document, indent=1, allow_nan=False), encoding="utf-8")
    if csv is not None:
        experiments.write_csv(document, csv)
    print_json(document) if json else _show(document, output)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _settings(changes: list[str]) -> dict[str, dict[str, Any]]:
    """METHOD.FIELD=VALUE, each: a number, true, false, null, or else a word."""
    found: dict[str, dict[str, Any]] = {}
    for change in changes:
        path, equals, text = change.partition("=")
        method, dot, field = path.partition(".")
        if not (equals and dot and method and field):
            raise ConfigError(f"--set must be METHOD.FIELD=VALUE, such as salun.lr=0.1; got {change!r}.")
        try:
            value = json_text.loads(text)
        except ValueError:
            value = text
        found.setdefault(method, {})[field] = value
    return found


class Stages:
    """One bar after another: proximity, training, methods."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._stack, self._advance, self._what = quiet, ExitStack(), _ignore, ""

    def __enter__(self) -> "Stages":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, what: str, done: int, of: int) -> None:
        """`done` of this stage; a new stage closes the one before."""
        if what != self._what:
            self._stack.close()
            self._what = what
            self._advance = self._stack.enter_context(progress_line(what, of, quiet=self._quiet))
        if done:
            self._advance(done)


def _ignore(_: object) -> None:
    pass


def _show(document: dict[str, Any], output: Path) -> None:
    from .. import experiments

    lines = experiments.summarise(document)
    kept = [title for title in lines[-1].columns if any(line.columns[title] for line in lines)]
    table = [[_name(line), line.kind, _epsilon(line)] + [_cell(title, line) for title in kept] for line in lines]
    print_table(["method", "kind", "epsilon", *kept], table, width=WIDE)
    print_facts(
        [
            ("", ""),
            ("UA … MIA", "percent, mean ± standard deviation over seeds (and the gap to retraining)"),
            ("LiRA", "AUC against retrained models: 0.5 is forgotten"),
            ("steps", "relative to retraining"),
            ("deletion", f"{document['deletion']}, seeds {document['seeds']}"),
            ("file", str(output)),
        ]
    )


def _name(line: Any) -> str:
    return f"{line.method} ({line.failed} failed)" if line.failed else line.method


def _epsilon(line: Any) -> str:
    return "" if line.epsilon is None else figure(line.epsilon)


def _cell(title: str, line: Any) -> str:
    """Rates in percent, the rest as it is."""
    spread = line.columns[title]
    if spread is None:
        return ""
    scale, digits = (100.0, 1) if title in ("UA", "RA", "TA", "TA retained", "MIA") else (1.0, 2)
    text = f"{scale * spread.mean:.{digits}f}"
    if spread.deviation is not None:
        text += f" ± {scale * spread.deviation:.{digits}f}"
    return text if spread.gap is None else f"{text} ({scale * spread.gap:+.{digits}f})"
