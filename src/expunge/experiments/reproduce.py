"""Runs an experiment of the paper and gives its document: what was measured, beside what the paper reports.

Cells are those of a comparison, kept in the same way, so that two experiments on the same models share them, and a run that
was interrupted goes on where it was.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean
from typing import Any

from .. import calibration
from ..methods import Method
from .brief import brief
from .case import Case, open_view
from .cell import run_cell
from .meter import Meter, silent
from .noise import papers_noise
from .recipes import Experiment, Graph, Line, Panel, Recipe, Scale, Search, Trajectory
from .recipes.search import TUNING
from .store import Store
from .trained import machine, prepare
from .work import run_each

SCHEMA = "expunge.experiment/1"
STATED = ("name", "title", "source", "claim", "note", "shows", "axes", "log")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where and how an experiment is run. None of it is part of what is run."""

    folder: Path
    scale: Scale = "laptop"
    seeds: int | None = None
    data_dir: Path | None = None
    weights: Path | None = None
    device: str = "cpu"
    workers: int = 1
    ray: str | None = None
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    command: str = ""
    progress: Meter = silent

    def case(self, panel: Panel) -> Case:
        """The models and the requests of a panel, at this scale."""
        return Case(
            panel.workload,
            panel.deletion,
            scale="laptop" if self.scale == "smoke" else self.scale,
            shadows=0,
            features=("confidence",),
            data_dir=self.data_dir,
            weights=self.weights,
            device=self.device,
            changes={**panel.training, **self.changes},
        )

    def store(self, case: Case) -> Store:
        """A folder for each kind of model and request, shared by all experiments."""
        description = case.describe()
        return Store(self.folder / f"{case.workload}-{_digest(description)}", description)


def reproduce(experiment: Experiment, place: Place) -> dict[str, Any]:
    """The experiment's document, expunge.experiment/1, as plain JSON values."""
    experiment = experiment.at(place.scale)
    started = time.monotonic()
    found = _RUNS[type(experiment)](experiment, place)
    return {
        "schema": SCHEMA,
        "kind": type(experiment).__name__.lower(),
        **{name: getattr(experiment, name) for name in STATED if getattr(experiment, name, "") != ""},
        "scale": place.scale,
        "changes": place.changes,
        "machine": machine(place.device),
        "command": place.command,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seconds": time.monotonic() - started,
        **found,
    }


def _graph(graph: Graph, place: Place) -> dict[str, Any]:
    return graph.run()


def _trajectory(trajectory: Trajectory, place: Place) -> dict[str, Any]:
    panel = Panel(
        title="", workload=trajectory.workload, deletion=trajectory.deletion, lines=(), training=trajectory.training
    )
    workload = open_view(place.case(panel)).workload
    found = calibration.calibrate(
        workload.trajectory(trajectory.every),
        workload.dataset,
        trajectory.deletion,
        pairs=min(trajectory.pairs, place.seeds or trajectory.pairs),
        folder=place.folder / f"{trajectory.name}-{place.scale}",
        workers=place.workers,
        ray=place.ray,
    )
    return {"calibration": found.to_dict(), "paper": trajectory.paper}


def _recipe(recipe: Recipe, place: Place) -> dict[str, Any]:
    seeds = tuple(range(place.seeds or recipe.seeds))
    jobs = [(panel, line) for panel in recipe.panels for line in panel.lines]
    rows = _run(place, jobs, seeds)
    lines = [_line(panel, line, found) for (panel, line), found in zip(jobs, rows, strict=True)]
    return {"seeds": list(seeds), "panels": _by_panel(recipe.panels, jobs, lines)}


def _search(search: Search, place: Place) -> dict[str, Any]:
    """First every candidate and rival on the tuning seeds; then the best of each, and what is shown, on the real ones."""
    smoke = place.scale == "smoke"
    tried = [(p, line) for p in search.panels for line in p.lines if line.ours or line.method.name == "from_public"]
    judged = _run(place, tried, TUNING[:1] if smoke else TUNING)
    scores = {id(line): _score(rows) for (_, line), rows in zip(tried, judged, strict=True)}
    panels = tuple(replace(panel, lines=_finalists(panel, scores)) for panel in search.panels)
    found = _recipe(Recipe(**{name: getattr(search, name) for name in _SHARED}, panels=panels), place)
    tables = [
        {"title": panel.title, "tried": {line.label: scores[id(line)] for p, line in tried if p is panel}}
        for panel in search.panels
    ]
    return {**found, "search": {"seeds": list(TUNING), "by": "accuracy on retained data", "panels": tables}}


def _score(rows: list[dict[str, Any]]) -> float:
    """Mean accuracy on retained data; a run that failed is worth nothing."""
    return fmean(row["audit"]["accuracy"]["retain"] if row["audit"] else 0.0 for row in rows)


_SHARED = ("name", "title", "source", "claim", "shows", "seeds", "note")
_RUNS = {Graph: _graph, Trajectory: _trajectory, Recipe: _recipe, Search: _search}


def _finalists(panel: Panel, scores: dict[int, float]) -> tuple[Line, ...]:
    groups = ([line for line in panel.lines if line.ours], [x for x in panel.lines if x.method.name == "from_public"])
    best = [max(group, key=lambda line: scores[id(line)]) for group in groups]
    return (*best, *(line for line in panel.lines if id(line) not in scores))


def _run(place: Place, jobs: Sequence[tuple[Panel, Line]], seeds: Sequence[int]) -> list[list[dict[str, Any]]]:
    """A row for each seed of each line, in order."""
    cases = [place.case(panel) for panel, _ in jobs]
    stores = [place.store(case) for case in cases]
    models = {
        (store.folder, seed): (case, store, seed) for case, store in zip(cases, stores, strict=True) for seed in seeds
    }
    options: dict[str, Any] = {"workers": place.workers, "ray": place.ray, "progress": place.progress}
    run_each(prepare, list(models.values()), "training", **options)
    cells = [
        (case, store, line.method, seed, f"{line.method.name}-{_settings(line.method)}")
        for case, store, (_, line) in zip(cases, stores, jobs, strict=True)
        for seed in seeds
    ]
    unique = list({(cell[1].folder, cell[4], cell[3]): cell for cell in cells}.values())
    run_each(run_cell, unique, "methods", **options)
    rows = [store.read(f"{name}-{seed}") or {} for _, store, _, seed, name in cells]
    return [rows[start : start + len(seeds)] for start in range(0, len(rows), len(seeds))]


def _line(panel: Panel, line: Line, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "label": line.label,
        "method": line.method.name,
        "kind": line.method.kind,
        "ours": line.ours,
        "paper": dict(line.paper),
        "papers_noise": papers_noise(line.method),
        "rows": [brief(row, curve=True) for row in rows],
    }


def _by_panel(panels: Sequence[Panel], jobs: Any, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "title": panel.title,
            "workload": panel.workload,
            "deletion": panel.deletion.describe(),
            "lines": [line for (owner, _), line in zip(jobs, lines, strict=True) if owner is panel],
        }
        for panel in panels
    ]


def _settings(method: Method) -> str:
    return _digest(method.describe())


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]
