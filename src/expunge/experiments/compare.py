"""A comparison: every method from the same trained models, cell by cell, each kept when it is done."""

import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .cell import run_cell
from .meter import Meter, silent
from .request import Request
from .settings import build
from .store import Store
from .trained import machine, prepare
from .work import run_each

SCHEMA = "expunge.comparison/1"


def compare(
    request: Request,
    folder: str | Path,
    *,
    workers: int = 1,
    ray: str | None = None,
    command: str | None = None,
    progress: Meter = silent,
) -> dict[str, Any]:
    """The comparison as plain JSON values. Finished cells of the folder are not run again; `progress(what, done, of)`.

    workers, ray    processes on this machine, or a Ray cluster whose nodes share the folder. Times are then times of
                    methods beside each other, and longer
    """
    store = Store(folder, request.describe())
    options: dict[str, Any] = {"workers": workers, "ray": ray, "progress": progress}
    originals = run_each(prepare, [(request, store, seed) for seed in request.seeds], "training", **options)
    cells = [
        (request, store, method, seed, name)
        for seed in request.seeds
        for name, method in build(request, seed).items()
        if seed in request.seeds_of(name)
    ]
    rows = run_each(run_cell, cells, "methods", **options)
    places = {name: place for place, name in enumerate(request.chosen)}
    return {
        "schema": SCHEMA,
        "workload": request.workload,
        "scale": request.scale,
        "deletion": request.deletion.describe(),
        "seeds": list(request.seeds),
        "machine": machine(request.device),
        "command": command or " ".join(sys.argv),
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "target": {"epsilon": request.epsilon, "delta": request.delta, "accountant": request.accountant},
        "originals": sorted(originals, key=lambda found: found["seed"]),
        "rows": sorted(rows, key=lambda row: (places[row["method"]], row["seed"])),
    }
