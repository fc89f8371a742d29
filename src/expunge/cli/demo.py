"""`expunge demo`: from nothing to two certified, audited, explained results."""

import time
from pathlib import Path
from typing import Any, Literal

from ..bars import duration
from . import loading
from .output import figure, print_facts, print_json


def demo(
    *,
    workload: Literal["digits", "mnist"] = "digits",
    data_dir: Path | None = None,
    output: Path = Path("demo"),
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Train, calibrate, plan, unlearn, verify, audit and report: a random tenth of a data set, then a whole class of it.

    Parameters
    ----------
    workload
        "digits" comes with the package; "mnist" needs MNIST in --data-dir.
    data_dir
        Where the data lie; default $EXPUNGE_DATA, else ~/.cache/expunge.
    output
        A folder for everything. Run again, and only what has changed is done again.
    quiet
        No progress.
    json
        Print one JSON object.
    """
    from ..project import demo as demonstration
    from ..report.results import load
    from ..report.verdict import verdict

    began = time.monotonic()
    with loading.users_code():
        shown = demonstration.play(
            output, workload=workload, data_dir=data_dir, quiet=quiet or json, told=None if json else _tell
        )
    requests: list[dict[str, Any]] = []
    for one in shown:
        results = load(one.results)
        accuracies = {row.method: _accuracy(row) for row in (results.comparison.rows if results.comparison else ())}
        judged = verdict(results)
        requests.append(
            {
                "deletion": results.asked.deletion.says,
                "removed": results.asked.deletion.removed,
                "epsilon": results.certificate.epsilon if results.certificate else None,
                "delta": results.asked.target.delta,
                "test_accuracy": {"before": results.asked.model.accuracy, **accuracies},
                "worth_it": judged.answer,
                "verdict": judged.headline,
                "report": str(one.page),
            }
        )
    answer = {"schema": "expunge.demo/1", "seconds": round(time.monotonic() - began, 1), "requests": requests}
    print_json(answer) if json else _show(answer, output)


def _accuracy(row: Any) -> float | None:
    found = row.audit.accuracy if row.audit else None
    if found is None:
        return None
    return found.test if found.test_retained_classes is None else found.test_retained_classes


def _tell(request: str, done: Any) -> None:
    print_facts(
        [(f"{request}, {done.stage}", f"{done.says} ({duration(done.seconds) if done.fresh else 'as it was'})")]
    )


def _show(answer: dict[str, Any], output: Path) -> None:
    for request in answer["requests"]:
        shown = {name: f"{value:.1%}" for name, value in request["test_accuracy"].items() if value is not None}
        print()
        print_facts(
            [
                ("forgotten", f"{request['deletion']} ({request['removed']:,} samples)"),
                (
                    "certified",
                    f"epsilon {figure(request['epsilon'])}, delta {request['delta']:g}, if the proximity holds",
                ),
                ("test accuracy", ", ".join(f"{name} {value}" for name, value in shown.items())),
                ("worth it?", request["verdict"]),
                ("look at", request["report"]),
            ]
        )
    print()
    print_facts(
        [
            ("took", duration(answer["seconds"])),
            ("try", f"change {output / 'expunge.toml'}, then: expunge run --project {output / 'expunge.toml'}"),
            ("check", f"expunge verify {output / 'certificate.json'} --weights {output / 'unlearned.safetensors'}"),
        ]
    )
