"""Which mechanism, which recovery, or none: tried on models and requests of their own, never on the request.

A practice is a model trained with another seed, a request to it, and a tenth of what is retained that nobody trains on:
these samples judge. Candidates and rivals are tried with the same recoveries, and the best of each are compared.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .. import methods, planning
from ..bars import Bars
from ..calibration import Stream
from ..calibration.coupling import chance
from ..errors import CertificationError, ConfigError, DataError
from ..planning import Candidate, Start, Trial
from ..subspaces import from_description
from ..unlearning import FineTune
from .materials import Materials, accuracy
from .settings import Target

HELD_OUT = 10  # every so many of the retained samples
RECOVERIES: dict[str, dict[str, Any]] = {
    "Adam 0.001": {"optimizer": "adam", "lr": 1e-3, "schedule": "cosine"},
    "Adam 0.003": {"optimizer": "adam", "lr": 3e-3, "schedule": "cosine"},
    "SGD 0.05": {"optimizer": "sgd", "lr": 0.05, "momentum": 0.9, "schedule": "cosine"},
}
AROUND = (0.3, 3.0)  # multiples of ε at which the winner is tried again, for the front


def choose(
    materials: Materials,
    target: Target,
    starts: Sequence[Start],
    *,
    budget: int,
    tries: int,
    tolerance: float,
    bars: Bars,
) -> dict[str, Any]:
    """All that was tried, the front, and the advice: expunge.choice/1, as plain values."""
    search = Search([practise(materials, number) for number in range(tries)], starts, target, bars)
    search.run(budget)
    trials = [search.retrained(), *(trial for trial, _ in search.tried.values())]
    advice = planning.advise(trials, epsilon=target.epsilon, tolerance=tolerance)
    best = search.tried[advice.best.name][1]
    return {
        "schema": "expunge.choice/1",
        "target": asdict(target),
        "budget": budget,
        "practices": [practice.describe() for practice in search.practices],
        "trials": [{**asdict(trial), "score": trial.score, "spread": trial.spread} for trial in trials],
        "front": [trial.name for trial in planning.front(trials)],
        "predicted": [_predicted(way.candidate) for way in search.ways(budget, target.epsilon) if way.candidate],
        "advice": {"verdict": advice.verdict, "best": advice.best.name, "why": advice.why},
        "settings": _settings(best),
    }


@dataclass(frozen=True)
class Practice:
    """A trained model that nobody will release, and a request to it."""

    materials: Materials
    seed: int
    forget: Tensor
    kept: Tensor
    judges: Tensor
    state: Mapping[str, Tensor]
    retrain_steps: int
    retrained: float

    def task(self) -> methods.Task:
        """The request, as a method sees it; its model is a copy."""
        model = self.materials.fresh()
        model.load_state_dict(self.state)
        return methods.Task(
            model,
            self.materials.batches(self.kept, training=True),
            self.materials.loss,
            fresh=self.materials.fresh,
            forget_indices=self.forget.tolist(),
            seed=self.seed,
        )

    def describe(self) -> dict[str, Any]:
        """How it was drawn."""
        return {"seed": self.seed, "removed": len(self.forget), "kept": len(self.kept), "judges": len(self.judges)}

    def score(self, method: methods.Method) -> float:
        """Accuracy on the held-out samples after the method; a run that diverged or was refused is worth nothing."""
        try:
            return _judged(self.materials, method(self.task()).model, self.judges)
        except (DataError, CertificationError):
            return 0.0


def practise(materials: Materials, number: int) -> Practice:
    """One practice: seed, request and held-out samples of its own."""
    seed, size = chance(materials.project.project.seed, number, "practice"), len(materials.dataset)
    forget = materials.deletion.forget(materials.dataset, seed)
    stays = torch.ones(size, dtype=torch.bool)
    stays[forget] = False
    rest = stays.nonzero().view(-1)
    order = rest[torch.randperm(len(rest), generator=torch.Generator().manual_seed(seed))]
    cut = max(1, len(order) // HELD_OUT)
    judges, kept = order[:cut], order[cut:].sort().values
    both = torch.cat([forget, kept]).sort().values
    trained = materials.trained(Stream(materials.dataset, both), seed)
    again, steps = materials.counted(Stream(materials.dataset, kept), seed)
    state = {name: tensor.detach().clone() for name, tensor in trained.state_dict().items()}
    return Practice(materials, seed, forget, kept, judges, state, steps, _judged(materials, again, judges))


@dataclass(frozen=True)
class Way:
    """Something that can be tried: a candidate of the planner, or (without one) training from the public initialisation."""

    candidate: Candidate | None
    recovery: str
    steps: int
    epsilon: float
    target: Target

    @property
    def name(self) -> str:
        """What is done, and how it goes on."""
        begins = f"ε = {self.epsilon:g}, {self.candidate.name}" if self.candidate else "from scratch"
        return f"{begins}, {self.recovery}, {self.steps} steps"

    def method(self, seed: int) -> methods.Method:
        """As it is run; its noise is simulated, for nothing here is released."""
        one, recipe = self.candidate, RECOVERIES[self.recovery]
        if one is None:
            return methods.FromPublic(FineTune(self.steps, **recipe))
        schedule = {name: getattr(one, name) for name in ("clip", "step_size", "weight_decay", "steps")}
        promise = {**asdict(self.target), "epsilon": self.epsilon, "proximity": one.start.proximity}
        design, recovery = from_description(dict(one.design)), FineTune(one.recovery, **recipe)
        return methods.BlockwiseNft(**promise, **schedule, design=design, fine_tune=recovery, simulate=seed)


class Search:
    """One thing at a time: how much of the weights to keep, then the recovery, then gradient steps among the noise."""

    def __init__(self, practices: Sequence[Practice], starts: Sequence[Start], target: Target, bars: Bars) -> None:
        self.practices, self.starts, self.target, self.bars = practices, starts, target, bars
        self.tried: dict[str, tuple[Trial, Way]] = {}

    def run(self, budget: int) -> None:
        """Tries all that is worth it."""
        first, ways = next(iter(RECOVERIES)), self.ways(budget, self.target.epsilon)
        winner = self.best("noise", [way for way in ways if way.recovery == first and _alone(way)])
        winner = self.best("recovery", [way for way in ways if way.candidate == winner.candidate])
        winner = self.best("gradients", [way for way in ways if way.recovery == winner.recovery and _like(way, winner)])
        self.best("scratch", [self._scratch(name, budget) for name in RECOVERIES])
        self._around(winner, budget)

    def ways(self, budget: int, epsilon: float) -> list[Way]:
        """Every candidate with every recovery."""
        promise = {**asdict(self.target), "epsilon": epsilon}
        found = planning.candidates(self.starts, **promise, budget=budget)
        return [Way(one, name, budget, epsilon, self.target) for one in found for name in RECOVERIES]

    def best(self, what: str, ways: Sequence[Way]) -> Way:
        """The one with the best mean score; what was tried before is not tried again."""
        for done, way in enumerate(ways):
            self.bars.move(what, done, len(ways), way.name)
            if way.name not in self.tried:
                kind = "from scratch" if way.candidate is None else "certified"
                scores = tuple(practice.score(way.method(practice.seed)) for practice in self.practices)
                self.tried[way.name] = (
                    Trial(way.name, kind, way.epsilon if way.candidate else 0.0, way.steps, scores),
                    way,
                )
        self.bars.move(what, len(ways), len(ways))
        return max(ways, key=lambda way: self.tried[way.name][0].score)

    def retrained(self) -> Trial:
        """What retraining reaches, and costs."""
        steps = max(practice.retrain_steps for practice in self.practices)
        return Trial("retrained", "retrained", 0.0, steps, tuple(practice.retrained for practice in self.practices))

    def _scratch(self, recovery: str, budget: int) -> Way:
        return Way(None, recovery, budget, 0.0, self.target)

    def _around(self, winner: Way, budget: int) -> None:
        """The winner's kind at other ε and at half the cost, and training from scratch at half the cost: for the front."""
        half = budget // 2
        for steps, epsilon in [(budget, factor * self.target.epsilon) for factor in AROUND] + [
            (half, self.target.epsilon)
        ]:
            alike = [
                way for way in self.ways(steps, epsilon) if way.recovery == winner.recovery and _alike(way, winner)
            ]
            self.best("front", sorted(alike, key=lambda way: _distance(way, winner))[:1])
        self.best("front", [self._scratch(winner.recovery, half)])


def _alone(way: Way) -> bool:
    """Noise, and no gradient step among it."""
    return way.candidate is not None and way.candidate.clip == 0.0


def _like(way: Way, other: Way) -> bool:
    """The same place for the noise, and as much of the weights left."""
    one, two = way.candidate, other.candidate
    return one is not None and two is not None and (one.start.name, one.keep) == (two.start.name, two.keep)


def _alike(way: Way, other: Way) -> bool:
    """The same place for the noise, and the same blocks."""
    one, two = way.candidate, other.candidate
    if one is None or two is None:
        return False
    return (one.start.name, one.design, one.clip > 0.0) == (two.start.name, two.design, two.clip > 0.0)


def _distance(way: Way, other: Way) -> float:
    """How far the noise that is left is from what the other recovered from: decay brings it to a level."""
    one, two = way.candidate, other.candidate
    return 0.0 if one is None or two is None else abs(math.log(one.sigma / two.sigma))


def _predicted(one: Candidate) -> dict[str, Any]:
    """What was known of a candidate before anything ran."""
    signal = {"total": one.total_signal, **one.signal}
    finite = {name: value if math.isfinite(value) else None for name, value in signal.items()}
    return {
        "name": one.name,
        "sigma": one.sigma,
        "noise_norm": one.noise_norm,
        "signal": finite,
        "recovery": one.recovery,
    }


def _settings(way: Way) -> dict[str, dict[str, Any]]:
    """The tables of a project file that do it so."""
    one = way.candidate
    if one is None:
        return {}
    design = {"design": one.design["kind"], **({"blocks": one.design["k"]} if "k" in one.design else {})}
    schedule = {name: getattr(one, name) for name in ("clip", "step_size", "weight_decay", "steps")}
    return {"mechanism": {**design, **schedule}, "fine_tune": {"steps": one.recovery, **RECOVERIES[way.recovery]}}


def _judged(materials: Materials, model: nn.Module, judges: Tensor) -> float:
    found = accuracy(model, materials.batches(judges, training=False))
    if found is None:
        raise ConfigError("candidates are judged by accuracy, and these batches are no pairs of inputs and labels.")
    return found
