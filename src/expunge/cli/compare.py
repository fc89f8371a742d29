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
from .output import print_facts, print_json, print_table, progress_line
from .train import WorkloadName

WIDE = 400  # a terminal wraps what it cannot show; nothing is cut


def compare(
    *,
    workload: WorkloadName = "digits-mlp",
    deletion: str = "random:0.1",
    methods: str = "all",
    without: str | None = None,
    seeds: WholeNumber = 1,
    fewer: list[str] | None = None,
    epsilon: float = 10.0,
    delta: float = 1e-5,
    proximity: str = "calibrated",
    pairs: WholeNumber = 10,
    accountant: Accountant = "gaussian",
    scale: Literal["laptop", "paper"] = "laptop",
    epochs: WholeNumber | None = None,
    training: list[str] | None = None,
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
    brief: bool = False,
    csv: Path | None = None,
    markdown: Path | None = None,
    report: Path | None = None,
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
    fewer
        METHOD=NUMBER, fewer seeds for a method that takes long (amun=3).
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
    training
        FIELD=VALUE of the training recipe, to train otherwise (steps=250, schedule=linear).
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
    brief
        Leave out of it what only figures show (curves of attacks and of accuracy). Without --report runs are not
        followed for their curves at all.
    csv
        Also as a table: a line for each method and seed.
    markdown
        Also the printed table, in Markdown.
    report
        Also a page (HTML) with its figures.
    quiet
        No progress.
    json
        Print the comparison as one JSON object.
    """
    from .. import experiments

    wanted = {"output": output, "csv": csv, "markdown": markdown, "report": report}
    files = {name: path for name, path in wanted.items() if path is not None}
    for name, path in files.items():
        loading.destination(name, path)
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
        changes={
            **loading.training_changes("training", training or []),
            **({} if epochs is None else {"epochs": epochs}),
        },
        looks=None if brief and report is None else experiments.Looks(),
        settings=_settings(set or []),
        fewer=_fewer(fewer or []),
    )
    with Stages(quiet=quiet or json) as tell:
        if proximity == "calibrated":
            request = experiments.calibrated(request, place, pairs=pairs, workers=workers, ray=ray, progress=tell)
        command = shlex.join(["expunge", *sys.argv[1:]])
        document = experiments.compare(request, place, workers=workers, ray=ray, command=command, progress=tell)
    _write(files, request, document, brief=brief)
    print_json(document) if json else _show(document, [*files.values()])


def _write(files: dict[str, Path], request: Any, document: dict[str, Any], *, brief: bool) -> None:
    """Each file that was asked for."""
    from .. import experiments

    shortened = {part: [experiments.brief(row) for row in document[part]] for part in ("originals", "rows")}
    kept = {**document, **(shortened if brief else {})}
    files["output"].write_text(json_text.dumps(kept, indent=1, allow_nan=False), encoding="utf-8")
    if "csv" in files:
        experiments.write_csv(document, files["csv"])
    if "markdown" in files:
        files["markdown"].write_text(experiments.markdown(document), encoding="utf-8")
    if "report" in files:
        from .. import report as reports

        reports.write(reports.from_dict(experiments.results(request, document)), files["report"])


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


def _fewer(words: list[str]) -> dict[str, int]:
    """METHOD=NUMBER, each."""
    found = dict[str, int]()
    for word in words:
        method, _, count = word.partition("=")
        if not count.isdecimal():
            raise ConfigError(f"--fewer must be METHOD=NUMBER, such as amun=3; got {word!r}.")
        found[method] = int(count)
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


def _show(document: dict[str, Any], files: list[Path]) -> None:
    from .. import experiments

    print_table(*experiments.table(document), width=WIDE)
    print_facts(
        [
            ("", ""),
            (
                "UA … MIA",
                "percent, mean ± standard deviation over seeds (and the gap to retraining with the same seeds)",
            ),
            ("LiRA", "AUC against retrained models: 0.5 is forgotten"),
            ("RTE, steps", "time and steps, relative to retraining"),
            ("deletion", f"{document['deletion']}, seeds {document['seeds']}"),
            ("files", ", ".join(map(str, files))),
        ]
    )
