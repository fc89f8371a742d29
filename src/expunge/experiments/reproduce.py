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
from ..errors import ConfigError
from ..methods import Method
from .brief import brief
from .case import Case, open_view
from .cell import run_cell
from .curve import Looks
from .meter import Meter, silent
from .noise import papers_noise
from .recipes import Experiment, Graph, Line, Panel, Recipe, Scale, Search, Trajectory
from .recipes.scales import LAPTOP
from .recipes.search import JUDGED, TUNING
from .store import Store
from .trained import machine, prepare, prepare_original
from .work import run_each

SCHEMA = "expunge.experiment/1"
STATED = ("name", "title", "source", "claim", "note", "scaled", "shows", "axes", "log")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where and how an experiment is run. `panels` names those that are, where not all are to be.

    followed    whether runs are looked at on their way, for their curves
    """

    folder: Path
    scale: Scale = "laptop"
    seeds: int | None = None
    panels: tuple[str, ...] = ()
    data_dir: Path | None = None
    weights: Path | None = None
    device: str = "cpu"
    workers: int = 1
    ray: str | None = None
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    command: str = ""
    followed: bool = True
    progress: Meter = silent

    def case(self, panel: Panel) -> Case:
        """The models and the requests of a panel, at this scale."""
        about = LAPTOP.get(panel.workload) if self.scale == "laptop" else None
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
            looks=(about.looks if about else Looks()) if self.followed else None,
        )

    def store(self, case: Case) -> Store:
        """A folder for each kind of model and request, shared by all experiments."""
        return self._store(case, case.describe())

    def originals(self, case: Case) -> Store:
        """What was trained on everything, for requests of every kind."""
        return self._store(case, {name: value for name, value in case.describe().items() if name != "deletion"})

    def _store(self, case: Case, description: dict[str, Any]) -> Store:
        return Store(self.folder / f"{case.workload}-{_digest(description)}", description)


def reproduce(experiment: Experiment, place: Place) -> dict[str, Any]:
    """The experiment's document, expunge.experiment/1, as plain JSON values."""
    experiment, left = _chosen(experiment.at(place.scale), place.panels)
    started = time.monotonic()
    found = _RUNS[type(experiment)](experiment, place)
    return {
        "schema": SCHEMA,
        "kind": type(experiment).__name__.lower(),
        **{name: getattr(experiment, name) for name in STATED if getattr(experiment, name, "") != ""},
        **({"left_out": left} if left else {}),
        "scale": place.scale,
        "changes": place.changes,
        "machine": machine(place.device),
        "command": place.command,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seconds": time.monotonic() - started,
        **found,
    }


def _chosen(experiment: Experiment, titles: Sequence[str]) -> tuple[Experiment, list[str]]:
    """The experiment with these panels alone, and the titles of the others."""
    if not titles:
        return experiment, []
    panels = experiment.panels if isinstance(experiment, (Recipe, Search)) else ()
    known = [panel.title for panel in panels]
    if not isinstance(experiment, (Recipe, Search)) or not set(titles) <= set(known):
        raise ConfigError(f"{experiment.name} has the panels {known}; got {list(titles)}.")
    chosen = tuple(panel for panel in panels if panel.title in titles)
    return replace(experiment, panels=chosen), [title for title in known if title not in titles]


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
    trial = replace(place, followed=False, changes={**place.changes, "test_samples": JUDGED})
    judged = _run(trial, tried, TUNING[:1] if smoke else TUNING)
    scores = {id(line): _score(panel, rows) for (panel, line), rows in zip(tried, judged, strict=True)}
    panels = tuple(replace(panel, lines=_finalists(panel, scores)) for panel in search.panels)
    found = _recipe(Recipe(**{name: getattr(search, name) for name in _SHARED}, panels=panels), place)
    tables = [
        {"title": panel.title, "tried": {line.label: scores[id(line)] for p, line in tried if p is panel}}
        for panel in search.panels
    ]
    return {**found, "search": {"seeds": list(TUNING), "by": "accuracy on held-out samples", "panels": tables}}


def _score(panel: Panel, rows: list[dict[str, Any]]) -> float:
    """Mean accuracy on what the tuning request removed, which fine-tuning never sees; a run that failed is worth nothing.

    Where that is a class, which no model should know any more, on retained samples.
    """
    part = "retain" if panel.deletion.describe()["kind"] == "class" else "forget"
    return fmean(row["audit"]["accuracy"][part] if row["audit"] else 0.0 for row in rows)


_SHARED = ("name", "title", "source", "claim", "shows", "seeds", "note")
_RUNS = {Graph: _graph, Trajectory: _trajectory, Recipe: _recipe, Search: _search}


def _finalists(panel: Panel, scores: dict[int, float]) -> tuple[Line, ...]:
    groups = ([line for line in panel.lines if line.ours], [x for x in panel.lines if x.method.name == "from_public"])
    best = [max(group, key=lambda line: scores[id(line)]) for group in groups]
    return (*best, *(line for line in panel.lines if id(line) not in scores))


def _run(place: Place, jobs: Sequence[tuple[Panel, Line]], seeds: Sequence[int]) -> list[list[dict[str, Any]]]:
    """A row for each seed of each line, in order."""
    cases = [place.case(panel) for panel, _ in jobs]
    stores, originals = [place.store(case) for case in cases], [place.originals(case) for case in cases]
    options: dict[str, Any] = {"workers": place.workers, "ray": place.ray, "progress": place.progress}
    begun = {(of.folder, seed): (case, of, seed) for case, of in zip(cases, originals, strict=True) for seed in seeds}
    run_each(prepare_original, list(begun.values()), "training", **options)
    models = {
        (store.folder, seed): (case, store, seed, of)
        for case, store, of in zip(cases, stores, originals, strict=True)
        for seed in seeds
    }
    run_each(prepare, list(models.values()), "retraining", **options)
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
        "settings": line.method.describe(),
        "ours": line.ours,
        "paper": dict(line.paper),
        "papers_noise": None if line.ours else papers_noise(line.method),
        "rows": [_slim(row) for row in rows],
    }


def _slim(row: dict[str, Any]) -> dict[str, Any]:
    """A brief row with its curve, rounded and without losses. Settings are the line's; of the details only phases stay."""
    kept = {name: value for name, value in brief(row, curve=True).items() if name not in ("details", "settings")}
    seen, phases = ("phase", "step", "test_accuracy"), row.get("details", {}).get("phases")
    kept["curve"] = [{name: _rounded(point[name]) for name in seen} for point in row["curve"]]
    return {**kept, "details": {"phases": phases} if phases else {}}


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


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
