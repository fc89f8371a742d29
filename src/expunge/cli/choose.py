"""`expunge choose`: which mechanism and which recovery for a project, or retraining."""

import json as json_text
from pathlib import Path
from typing import Any

from ..accounting.checks import number, whole
from ..project import settings
from . import loading
from .numbers import WholeNumber
from .output import figure, print_facts, print_json, print_table


def choose(
    *,
    project: Path = Path(settings.FILE),
    budget: WholeNumber = 300,
    tries: WholeNumber = 1,
    tolerance: float = 0.01,
    output: Path = Path("choice.json"),
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Try mechanisms and recoveries for a project's target, and say which one, or that retraining is better.

    Parameters
    ----------
    project
        The project file: model, data, kind of request, target, and the proximity, which is calibrated first.
    budget
        Steps on retained data that a request may cost, noise and recovery together.
    tries
        Models and requests to try on, each of which costs two trainings; one says nothing about chance.
    tolerance
        How much accuracy may be lost against retraining before retraining is the advice.
    output
        Where all that was tried goes (JSON).
    quiet
        No progress.
    json
        Print it as one JSON object.
    """
    from ..accounting.ledger import read_proximity
    from ..bars import Bars
    from ..project import pipeline
    from ..project.choose import choose
    from ..project.materials import gather
    from ..project.stages.calibrate import PROXIMITY

    whole("budget", budget, least=4)
    whole("tries", tries)
    number("tolerance", tolerance, least=0.0)
    loading.destination("output", output)
    asked = settings.load(project)
    with loading.users_code():
        pipeline.run(asked, "calibrate", quiet=quiet or json)
        measured = json_text.loads((asked.folder / PROXIMITY).read_text(encoding="utf-8"))["proximity"]
        with Bars(quiet=quiet or json) as bars:
            answer = choose(
                gather(asked),
                asked.target,
                read_proximity(measured),
                budget=budget,
                tries=tries,
                tolerance=tolerance,
                bars=bars,
            )
    output.write_text(json_text.dumps(answer, indent=1, allow_nan=False, ensure_ascii=False), encoding="utf-8")
    print_json(answer) if json else _show(answer, output)


def _show(answer: dict[str, Any], output: Path) -> None:
    best = {name: place for place, name in enumerate(answer["front"])}
    trials = sorted(answer["trials"], key=lambda trial: -trial["score"])
    print_table(
        ("what", "epsilon", "steps", "accuracy", "front"),
        [
            (
                trial["name"],
                figure(trial["epsilon"]) if trial["kind"] == "certified" else "exact",
                str(trial["steps"]),
                f"{trial['score']:.2%} ± {trial['spread']:.2%}",
                "yes" if trial["name"] in best else "",
            )
            for trial in trials
        ],
        width=200,
    )
    print()
    advice = answer["advice"]
    print_facts(
        [
            ("advice", advice["verdict"]),
            ("why", advice["why"]),
            ("best certified", advice["best"]),
            ("all", str(output)),
        ]
    )
    for table, values in answer["settings"].items():
        print(f"\n[{table}]")
        for name, value in values.items():
            print(f"{name} = {json_text.dumps(value)}")
