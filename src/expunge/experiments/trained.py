"""The models that a comparison begins with and is held against: trained and retrained, for each seed; kept on disk."""

import platform
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from .. import audit
from ..methods import Retrain, Task
from ..workloads import Split, train
from .case import Case, open_view
from .store import Store
from .view import View

SHADOW = 100_000  # seeds of shadow models begin here


def prepare(case: Case, store: Store, seed: int, originals: Store | None = None) -> dict[str, Any]:
    """Train what is missing of this seed; how the trained model fares before anything is unlearned.

    originals   where `prepare_original` keeps models for every kind of deletion
    """
    view, parts = open_view(case), case.split(seed)
    before = _trained(view, store, parts, f"original-{seed}", torch.arange(parts.size), seed, originals)
    _trained(view, store, parts, f"retrained-{seed}", parts.retain, seed)
    for number in range(case.shadows):
        _trained(view, store, parts, f"shadow-{seed}-{number}", parts.retain, SHADOW + seed * 1000 + number)
    return {**before, "audit": judge(case, store, seed, store.outputs(f"original-{seed}"))}


def prepare_original(case: Case, originals: Store, seed: int) -> dict[str, Any]:
    """Train this seed's model on everything, unless it is there: it is the same whatever is deleted later."""
    name, view = f"original-{seed}", open_view(case)
    if (done := originals.read(name)) is not None:
        return done
    model, cost = _train(view, torch.arange(len(view.labels)), seed)
    originals.keep_weights(name, model)
    return originals.keep(name, cost)


def _trained(
    view: View, store: Store, parts: Split, name: str, indices: Tensor, seed: int, elsewhere: Store | None = None
) -> dict[str, Any]:
    """A model of this name, and what it cost: trained now, unless it was before, here or elsewhere."""
    if (done := store.read(name)) is not None:
        return done
    kept = None if elsewhere is None else elsewhere.read(name)
    if elsewhere is None or kept is None:
        model, cost = _train(view, indices, seed)
    else:
        model, cost = elsewhere.fill(name, view.workload.model(seed)).to(view.device), kept
    store.keep_model(name, model, collect(view, parts, model))
    return store.keep(name, cost)


def _train(view: View, indices: Tensor, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    run = Retrain()(training_task(view, indices, seed))
    return run.model, {"seed": seed, "seconds": run.seconds, "steps": run.steps, "samples": run.samples}


def judge(
    case: Case, store: Store, seed: int, outputs: audit.Outputs, *, weights: float | None = None
) -> dict[str, Any]:
    """All audits of a model, against this seed's retrained ones."""
    shadows = [store.outputs(f"shadow-{seed}-{number}") for number in range(case.shadows)]
    reference = store.outputs(f"retrained-{seed}")
    options: dict[str, Any] = {} if case.features is None else {"svc_features": case.features}
    return audit.measure(outputs, reference=reference, retrained=shadows, weights=weights, seed=seed, **options)


def training_task(view: View, indices: Tensor, seed: int) -> Task:
    """The workload's own training on these samples, as a task for `Retrain`."""
    workload = view.workload
    stream = workload.stream(indices)
    recipe = replace(workload.recipe, test_samples=1)  # the test at the end of each epoch is no part of the training

    def run(model: nn.Module, _: Any) -> tuple[int, int]:
        train(model, stream, recipe, seed=seed, device=view.device)
        steps = recipe.total_steps(len(stream))
        epochs, rest = divmod(steps, recipe.steps_per_epoch(len(stream)))
        return steps, epochs * len(stream) + rest * min(view.batch_size, len(stream))

    fresh = workload.model(seed).to(view.device)
    batches = view.batches(indices, augmented=True)
    return Task(fresh, batches, view.loss, fresh=lambda: workload.model(seed), train=run, seed=seed)


def collect(view: View, parts: Split, model: nn.Module) -> audit.Outputs:
    """What a model answers on all three parts (on as many samples as the recipe tests with)."""
    most = view.workload.recipe.test_samples
    judged = {"forget": parts.forget, "retain": parts.retain, "test": None}
    return audit.collect(model, {name: view.judged(indices, most) for name, indices in judged.items()})


def machine(device: str) -> dict[str, Any]:
    """Where the numbers were measured."""
    gpu = torch.cuda.get_device_name(torch.device(device)) if device.startswith("cuda") else None
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "gpu": gpu,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
