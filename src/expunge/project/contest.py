"""The new model beside retraining and the honest baselines: a row each, audited on the same samples."""

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .. import audit, calibration, methods, weights
from ..accounting import Proximity
from ..accounting.ledger import read_blocks, read_proximity
from ..calibration import Stream
from ..certificate import load as load_certificate
from ..certificate.issue import now, software
from .materials import Materials, accuracy
from .stage import Work
from .stages.calibrate import PROXIMITY
from .stages.train import TRAINED
from .stages.unlearn import CERTIFICATE, CURVE, UNLEARNED

RELEASED = "blockwise_nft"
NOISED = "from_public_noised"  # the same run, noise and all, on a model that has learned nothing


class Contest:
    """Runs and audits. The retrained models come first: everything else is held against the first of them."""

    def __init__(self, work: Work) -> None:
        self.work, self.materials, self.settings = work, work.materials, work.project.audit
        self.certificate = load_certificate(work.path(CERTIFICATE))
        self.seed = work.project.project.seed
        noisy = sum(len(block) for block in _steps(self.certificate))
        bases = 0 if work.project.reset.rank is None else work.project.reset.steps
        self.steps = work.project.clean.steps + bases + noisy + work.project.fine_tune.steps

    def rows(self) -> list[dict[str, Any]]:
        """The new model first."""
        reference = self._retrained() if "retrain" in self.settings.baselines else []
        names = [RELEASED, *self.settings.baselines]
        if NOISED in names and self.work.project.reset.rank is not None:
            names.remove(NOISED)  # it is the reference, which a reset refuses as a trained model
        found: list[dict[str, Any]] = []
        for count, name in enumerate(names):
            self.work.bars.move("comparing", count, len(names), name)
            place = self.work.scratch / f"row-{name}.json"
            if not place.exists():
                row, model = self._released() if name == RELEASED else self._run(name)
                row["audit"] = self._audit(model, reference)
                with weights.Atomic(place, 0o600) as file:
                    file.write(json.dumps(row).encode())
            found.append(json.loads(place.read_text(encoding="utf-8")))
        return _relative(found)

    def document(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """The whole comparison."""
        about = self.materials.deletion.describe()
        return {
            "schema": "expunge.comparison/1",
            "workload": self.work.project.project.workload or self.work.project.project.name,
            "deletion": about,
            "seeds": [self.seed],
            "machine": {"platform": platform.platform(), "threads": torch.get_num_threads(), **software()},
            "command": "expunge run audit",
            "created": now(),
            "rows": rows,
        }

    def _retrained(self) -> list[Path]:
        """Weights of the retrained models; the first is the baseline's own."""
        places = [self.work.scratch / f"retrained-{index}.safetensors" for index in range(self.settings.retrained)]
        for index, place in enumerate(places):
            self.work.bars.move("retraining", index, len(places))
            if not place.exists():
                model, told = _trained_again(self.materials, self.seed + index)
                weights.save(model.state_dict(), place)
                place.with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")
        return places

    def _released(self) -> tuple[dict[str, Any], nn.Module]:
        """The model that was certified: not another run of its method."""
        told = self.work.read(CURVE)
        row = self._row(RELEASED, "certified", told["seconds"], self.steps, told["curve"])
        return {**row, "guarantee": _guarantee(self.certificate)}, self.materials.model(self.work.path(UNLEARNED))

    def _run(self, name: str) -> tuple[dict[str, Any], nn.Module]:
        if name == "retrain":
            place = self.work.scratch / "retrained-0.safetensors"
            told = json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
            return self._row(name, "exact", told["seconds"], told["steps"], []), self.materials.model(place)
        curve: list[dict[str, Any]] = []
        made = self._method(name)(self._task(name, curve))
        exact = name == NOISED  # it began where no data was: its certificate certifies nothing that needs to be
        row = self._row(name, "exact" if exact else made.kind, made.seconds, made.steps, curve)
        guarantee = None if exact or made.certificate is None else _guarantee(made.certificate)
        return {**row, "samples": made.samples, "guarantee": guarantee}, made.model

    def _method(self, name: str) -> Callable[[methods.Task], methods.Unlearned]:
        """As many steps, the same recipe, the same promise as the new model."""
        tuning, mechanism = self.work.project.fine_tune, self.work.project.mechanism
        if name == "from_public":
            return methods.FromPublic(tuning.recipe(self.steps))
        promise = {
            **asdict(self.work.project.target),
            "proximity": self._proximity(everywhere=name == "output_perturbation"),
            "clean": self.work.project.clean.recipe(),
            "fine_tune": tuning.recipe(),
            "public": self.work.project.model.public,
        }
        if name == "output_perturbation":
            return methods.OutputPerturbation(**promise)
        schedule = {key: getattr(mechanism, key) for key in ("clip", "step_size", "weight_decay", "steps")}
        return methods.BlockwiseNft(**promise, **schedule, design=self.work.project.design())

    def _proximity(self, *, everywhere: bool) -> Proximity:
        """The run's own; for noise on all weights, the gap of all weights."""
        own = read_proximity(self.work.read(PROXIMITY)["proximity"])
        return (
            calibration.Calibration.load(self.work.path(PROXIMITY)).everywhere() if everywhere and own.design else own
        )

    def _task(self, name: str, curve: list[dict[str, Any]]) -> methods.Task:
        """A method's request. `from_public_noised` is handed the public initialisation as if it were the trained model."""
        every = self.work.project.report.accuracy_every

        def look(progress: Any, model: nn.Module) -> None:
            due = every and (progress.step % every == 0 or progress.step == progress.steps or progress.phase == "noise")
            found = accuracy(model, self.materials.tests()) if due else None
            curve.append({**progress.point, "test_accuracy": found})
            self.work.bars.move(progress.phase, progress.step, progress.steps)

        return methods.Task(
            model=self.materials.fresh() if name == NOISED else self.materials.model(self.work.path(TRAINED)),
            retain=self.materials.retained(),
            loss=self.materials.loss,
            forget=self.materials.forgotten(),
            fresh=self.materials.fresh,
            forget_indices=self.materials.split.forget.tolist(),
            seed=self.seed,
            on_step=look,
        )

    def _row(self, name: str, kind: str, seconds: float, steps: int, curve: list[Any]) -> dict[str, Any]:
        return {"method": name, "kind": kind, "seed": self.seed, "settings": self._settings(name), "guarantee": None,
                "seconds": seconds, "steps": steps, "samples": None, "curve": curve}  # fmt: skip

    def _settings(self, name: str) -> dict[str, Any]:
        whole, tuned = ("clean", "reset", "mechanism", "fine_tune"), ("fine_tune",)
        tables = {RELEASED: whole, NOISED: whole, "from_public": tuned, "output_perturbation": ("clean", "fine_tune")}
        everything = self.work.project.to_dict()
        return {table: everything[table] for table in tables.get(name, ())}

    def _audit(self, model: nn.Module, reference: list[Path]) -> dict[str, Any]:
        """Of (inputs, labels) classifiers; of others it says that nothing was measured."""
        if self.materials.accuracy(model) is None:
            return {"warnings": ["not audited: batches are no pairs of inputs and labels."]}
        parts = self.materials.parts()
        retrained = [audit.collect(self.materials.model(place), parts) for place in reference]
        distance = None
        if reference:
            distance = audit.weight_distance(model.state_dict(), weights.load(reference[0]))
        first, others = (retrained[0], retrained[1:]) if retrained else (None, [])
        return audit.measure(audit.collect(model, parts), reference=first, retrained=others, weights=distance)


def _trained_again(materials: Materials, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Retraining, as the model was trained."""
    began = time.perf_counter()
    model, steps = materials.counted(Stream(materials.dataset, materials.split.retain), seed)
    return model, {"seconds": time.perf_counter() - began, "steps": steps}


def _guarantee(certificate: Any) -> dict[str, Any]:
    stated = certificate["guarantee"]
    kept = {name: stated[name] for name in ("mu", "delta", "unconditional_delta")}
    return {**kept, "epsilon": certificate.epsilon}


def _steps(certificate: Any) -> list[tuple[Any, ...]]:
    return [block.steps for block in read_blocks(certificate["hops"][-1]["blocks"])]


def _relative(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With each row's cost over retraining's, where there was one."""
    base = next((row for row in rows if row["method"] == "retrain"), None)
    for row in rows:
        for name in ("seconds", "steps"):
            row[f"relative_{name}"] = row[name] / base[name] if base and base[name] and row[name] is not None else None
    return rows
