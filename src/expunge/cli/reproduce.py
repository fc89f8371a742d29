"""`expunge reproduce`: the paper's tables and figures, measured again."""

import json as json_text
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from . import loading
from .compare import Stages
from .numbers import WholeNumber
from .output import print_facts, print_json, print_table


def reproduce(
    name: str = "",
    /,
    *,
    list: bool = False,
    overview: bool = False,
    scale: Literal["smoke", "laptop", "paper"] = "laptop",
    seeds: WholeNumber | None = None,
    panel: list[str] | None = None,
    set: list[str] | None = None,
    data_dir: Path | None = None,
    weights: Path | None = None,
    device: str = "cpu",
    workers: WholeNumber = 1,
    ray: str | None = None,
    folder: Path = Path("runs"),
    output: Path = Path("results"),
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Run an experiment of the paper, and write its page, its figures and its numbers beside the paper's.

    Parameters
    ----------
    name
        Of the experiment; `--list` shows them.
    list
        Show every experiment.
    overview
        Write one page, overview.md, on all the experiments whose numbers lie in --output.
    scale
        "laptop" finishes on two cores; "paper" is the paper's own; "smoke" is a test of seconds on digits.
    seeds
        Instead of the recipe's.
    panel
        Only the panel of this title ("ε = 30"); again and again for more.
    set
        FIELD=VALUE of the training recipe, to train otherwise (epochs=20).
    data_dir
        Where the data is; default $EXPUNGE_DATA, else ~/.cache/expunge.
    weights
        Pretrained weights for the ViT.
    device
        "cpu", "cuda", …
    workers
        Processes on this machine.
    ray
        Address of a Ray cluster whose nodes share --folder.
    folder
        Where trained models and finished cells are kept, for the next experiment and after an interruption.
    output
        Where the page goes (NAME.md, NAME.json, figures/).
    quiet
        No progress.
    json
        Print the document as one JSON object.
    """
    from ..experiments import recipes
    from ..experiments.reproduce import Place, reproduce

    if overview:
        print_facts([("page", str(_overview(output, recipes.EXPERIMENTS)))])
        return
    if list or not name:
        _show_list(recipes.EXPERIMENTS, json)
        return
    experiment = recipes.find(name)
    command = shlex.join(["expunge", *sys.argv[1:]])
    changes = loading.training_changes("set", set or [])
    options: dict[str, Any] = {"data_dir": data_dir, "weights": weights, "workers": workers, "ray": ray}
    with Stages(quiet=quiet or json) as tell:
        place = Place(
            folder=folder, scale=scale, seeds=seeds, device=loading.device(device), changes=changes,
            command=command, progress=tell, panels=tuple(panel or ()), **options,
        )  # fmt: skip
        document = {**reproduce(experiment, place), "commit": _commit()}
    written = _write(document, output)
    if json:
        print_json(document)
        return
    print_facts([("page", str(written)), ("time", f"{document['seconds']:.0f} s")])


def _show_list(experiments: dict[str, Any], json: bool) -> None:
    if json:
        print_json({"schema": "expunge.experiments/1", "experiments": {n: e.title for n, e in experiments.items()}})
        return
    print_table(("name", "what", "in the paper"), [(name, e.title, e.source) for name, e in experiments.items()])


def _overview(folder: Path, experiments: dict[str, Any]) -> Path:
    from ..report import paper

    files = {name: folder / f"{name}.json" for name in experiments}
    documents = [json_text.loads(file.read_text(encoding="utf-8")) for file in files.values() if file.exists()]
    place = folder / "overview.md"
    place.write_text(paper.overview(documents, {n: e.title for n, e in experiments.items()}), encoding="utf-8")
    return place


def _commit() -> str:
    """Of the working copy that ran, where it is one."""
    with suppress(OSError, subprocess.SubprocessError):
        asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return "unknown"


def _write(document: dict[str, Any], folder: Path) -> Path:
    from ..report import paper, plots

    folder.mkdir(parents=True, exist_ok=True)
    data, place = folder / f"{document['name']}.json", folder / f"{document['name']}.md"
    data.write_text(json_text.dumps(document, allow_nan=False, ensure_ascii=False), encoding="utf-8")
    plots.write_each(paper.figures(document), folder / "figures")
    place.write_text(paper.page(document, data=data.name), encoding="utf-8")
    return place
