"""One cell of a comparison: one method on one seed's trained model, audited against that seed's retrained one."""

from typing import Any

from torch import nn

from .. import audit, weights
from ..errors import CertificationError, DataError
from ..methods import Method, Retrain, Task, Unlearned
from ..methods.task import unwatched
from .case import Case, open_view
from .curve import Curve
from .store import Store
from .trained import collect, judge, training_task
from .view import View, indices_of


def run_cell(case: Case, store: Store, method: Method, seed: int, name: str) -> dict[str, Any]:
    """The cell's row: from its file, where it was run and audited in the same way; otherwise it is run now."""
    row = store.read(f"{name}-{seed}")
    if row is not None and row["settings"] == method.describe() and row.get("shadows", case.shadows) == case.shadows:
        return row
    run = _retrained if method.name == Retrain.name else _run
    return store.keep(f"{name}-{seed}", {**run(case, store, method, seed), "shadows": case.shadows})


def _run(case: Case, store: Store, method: Method, seed: int) -> dict[str, Any]:
    view, parts = open_view(case), case.split(seed)
    original = store.fill(f"original-{seed}", view.workload.model(seed)).to(view.device)
    curve = _curve(case, view)
    task = Task(
        original,
        view.batches(parts.retain, augmented=True),
        view.loss,
        forget=view.batches(parts.forget, augmented=False),
        fresh=lambda: view.workload.model(seed),
        train=training_task(view, parts.retain, seed).train,
        forget_indices=parts.forget.tolist(),
        indices=indices_of,
        seed=seed,
        on_step=curve or unwatched,
    )
    try:
        done = method(task)
        outputs = collect(view, parts, done.model)
    except (DataError, CertificationError) as error:  # it diverged, or was refused: a result too
        return {**_head(method, seed), "guarantee": None, "failed": str(error), "curve": _points(curve), "audit": None}
    return _row(case, store, method, done, seed, outputs, curve)


def _retrained(case: Case, store: Store, method: Method, seed: int) -> dict[str, Any]:
    """What was trained for the audit anyway."""
    view, cost = open_view(case), store.read(f"retrained-{seed}") or {}
    model = store.fill(f"retrained-{seed}", view.workload.model(seed))
    details = {"settings": method.describe()}
    done = Unlearned(method.name, method.kind, model, None, cost["steps"], cost["samples"], cost["seconds"], details)
    return _row(case, store, method, done, seed, store.outputs(f"retrained-{seed}"), None)


def _row(
    case: Case,
    store: Store,
    method: Method,
    done: Unlearned,
    seed: int,
    outputs: audit.Outputs,
    curve: Curve | None,
) -> dict[str, Any]:
    retraining = store.read(f"retrained-{seed}") or {}
    details = {key: value for key, value in done.details.items() if key != "settings"}
    if curve is not None and "phases" in details:  # looking on is no part of a phase
        details["phases"] = {phase: spent - curve.seconds[phase] for phase, spent in details["phases"].items()}
    return {
        **_head(method, seed),
        "guarantee": _guarantee(done),
        "samples": done.samples,
        **audit.effort(
            seconds=done.seconds,
            steps=done.steps,
            retrain_seconds=retraining["seconds"],
            retrain_steps=retraining["steps"],
        ),
        "details": details,
        "curve": _points(curve),
        "audit": judge(case, store, seed, outputs, weights=_distance(done.model, store, seed)),
    }


def _curve(case: Case, view: View) -> Curve | None:
    """On no more test samples than the models are judged on."""
    if case.looks is None:
        return None
    most = min(case.looks.samples, view.workload.recipe.test_samples or case.looks.samples)
    return Curve(*next(view.judged(None, most, most)), case.looks.wider)


def _points(curve: Curve | None) -> list[dict[str, Any]]:
    return [] if curve is None else curve.points


def _head(method: Method, seed: int) -> dict[str, Any]:
    return {"method": method.name, "kind": method.kind, "seed": seed, "settings": method.describe()}


def _distance(model: nn.Module, store: Store, seed: int) -> float:
    retrained = weights.load(store.folder / f"retrained-{seed}.safetensors")
    return audit.weight_distance(model.state_dict(), retrained)


def _guarantee(done: Unlearned) -> dict[str, Any] | None:
    if done.certificate is None:
        return None
    found = done.certificate["guarantee"]
    return {
        "mu": found["mu"],
        "epsilon": found["epsilon"][found["accountant"]],
        "delta": found["delta"],
        "unconditional_delta": found["unconditional_delta"],
        "simulated": done.certificate["kind"] != "certificate",
    }
