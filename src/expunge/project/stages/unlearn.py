"""Carry out the plan, and certify it."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...accounting.checks import number, whole
from .plan import PLAN
from .train import TRAINED

if TYPE_CHECKING:
    from ..stage import Work

UNLEARNED, CERTIFICATE, CURVE, LOOKS = "unlearned.safetensors", "certificate.json", "curve.json", "looks.json"


@dataclass(frozen=True)
class FineTuning:
    """[fine_tune]. Ordinary training on retained data after the noise; it costs nothing in (ε, δ)."""

    steps: int = 100
    optimizer: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine"] = "cosine"

    def __post_init__(self) -> None:
        whole("steps", self.steps, least=0)
        for name in ("lr", "weight_decay"):
            number(name, getattr(self, name), least=0.0)
        number("momentum", self.momentum, least=0.0, below=1.0)

    def recipe(self, steps: int | None = None) -> Any:
        """As the engine takes it, for as many steps as it says or as it is told; none without any."""
        from ...unlearning import FineTune

        steps = self.steps if steps is None else steps
        return FineTune(**{**asdict(self), "steps": steps}) if steps else None


def unlearn(work: "Work") -> str:
    """Leaves the new weights, their certificate, and the way there."""
    from ... import api, weights
    from ...planning import Plan

    materials, model = work.materials, work.materials.model(work.path(TRAINED))
    plan = Plan.from_json(work.path(PLAN).read_bytes())
    looks = Looks(work)
    curve = _Curve(work, model)
    outcome = api.unlearn(
        model,
        materials.retained(),
        materials.loss,
        plan,
        design=work.project.design(),
        clean=work.project.clean.recipe(),
        fine_tune=work.project.fine_tune.recipe(),
        public=work.project.model.public,
        forget=materials.split.forget.tolist(),
        looks=looks.taken + 1,
        checkpoint=work.scratch / "checkpoint",
        progress=curve,
    )
    looks.take()
    weights.save(model.state_dict(), work.path(UNLEARNED))
    work.write(CERTIFICATE, outcome.certificate.to_bytes())
    seconds = sum(outcome.record.seconds.values()) - curve.seconds
    work.write_json(CURVE, {"schema": "expunge.curve/1", "seconds": seconds, "curve": curve.points})
    more = f". This is look {looks.taken} at one request, and looks add up" if looks.taken > 1 else ""
    return f"epsilon {outcome.certificate.epsilon:.4g} at delta {outcome.certificate.delta:g}{more}"


class Looks:
    """How often this request was carried out here. Who may choose among several runs has looked at all of them."""

    def __init__(self, work: "Work") -> None:
        self._work, self._all = work, work.read(LOOKS) if work.path(LOOKS).exists() else {}
        forget = work.materials.split.forget_sha256
        self._request = hashlib.sha256((work.hash(TRAINED) + forget).encode()).hexdigest()

    @property
    def taken(self) -> int:
        """Runs that came to an end."""
        return self._all.get(self._request, 0)

    def take(self) -> None:
        """One more; noted before there is anything to look at."""
        self._all[self._request] = self.taken + 1
        self._work.write_json(LOOKS, self._all)


class _Curve:
    """A meter that shows each step and keeps it, with the test accuracy now and then; an interruption loses nothing."""

    def __init__(self, work: "Work", model: Any) -> None:
        self._work, self._model, self._accuracy = work, model, ""
        self._place = work.scratch / "curve.jsonl"
        self.seconds = 0.0  # spent on looking, which unlearning should not be charged with

    def __call__(self, progress: Any) -> None:
        """One step."""
        began = time.perf_counter()
        every = self._work.project.report.accuracy_every
        found = None
        if every and (progress.phase == "noise" or progress.step % every == 0 or progress.step == progress.steps):
            found = self._work.materials.accuracy(self._model)
        if found is not None:
            self._accuracy = f"  accuracy {found:.1%}"
        shown = "" if progress.loss is None else f"loss {progress.loss:.4g}"
        self._work.bars.move(progress.phase, progress.step, progress.steps, shown + self._accuracy)
        with self._place.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**progress.point, "test_accuracy": found}) + "\n")
        self.seconds += time.perf_counter() - began

    @property
    def points(self) -> list[dict[str, Any]]:
        """Each step once: those that a resumed run took again count as they were taken last."""
        lines = self._place.read_text(encoding="utf-8").splitlines() if self._place.exists() else []
        steps = {(point["phase"], point["step"]): point for point in map(json.loads, lines)}
        return list(steps.values())
