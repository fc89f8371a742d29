"""Which mechanism, which recovery, or none: tried on practices, never on the request.

One thing at a time: where the noise enters and how much of the weights is kept; then the recovery; then gradient steps among
the noise. Training from scratch is tried with the same recoveries, so that the best of each are compared.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import methods, planning
from ..accounting import Proximity
from ..bars import Bars
from ..planning import Candidate, Trial
from ..subspaces import Design, Whole, from_description
from ..unlearning import FineTune
from .materials import Materials
from .practice import Practice, practise
from .settings import Target
from .starts import Place, places

RECOVERIES: dict[str, dict[str, Any]] = {
    "Adam 0.001": {"optimizer": "adam", "lr": 1e-3, "schedule": "cosine"},
    "Adam 0.003": {"optimizer": "adam", "lr": 3e-3, "schedule": "cosine"},
    "SGD 0.05": {"optimizer": "sgd", "lr": 0.05, "momentum": 0.9, "schedule": "cosine"},
}
AROUND = (0.3, 3.0)  # multiples of ε at which the winner's kind is tried again, for the front


def choose(
    materials: Materials,
    target: Target,
    proximity: Proximity,
    *,
    budget: int,
    tries: int,
    tolerance: float,
    bars: Bars,
) -> dict[str, Any]:
    """All that was tried, the front, and the advice: expunge.choice/1, as plain values."""
    practices: list[Practice] = []
    for number in range(tries):
        bars.move("practice", number, tries)
        practices.append(practise(materials, number))
    search = Search(practices, list(places(practices, proximity, budget)), target, bars)
    search.run(budget)
    trials = [search.retrained(), *(trial for trial, _ in search.tried.values())]
    advice = planning.advise(trials, epsilon=target.epsilon, tolerance=tolerance)
    return {
        "schema": "expunge.choice/1",
        "target": asdict(target),
        "proximity": proximity.gap,
        "budget": budget,
        "practices": [practice.describe() for practice in practices],
        "predicted": [_predicted(one) for one in search.candidates(budget, target.epsilon)],
        "trials": [{**asdict(trial), "score": trial.score, "spread": trial.spread} for trial in trials],
        "front": [trial.name for trial in planning.front(trials)],
        "advice": {"verdict": advice.verdict, "best": advice.best.name, "why": advice.why},
        "settings": _settings(search.tried[advice.best.name][1]),
    }


@dataclass(frozen=True)
class Way:
    """Something that can be tried: a candidate of the planner, or (without one) training from the public initialisation."""

    candidate: Candidate | None
    recovery: str
    steps: int
    epsilon: float

    @property
    def name(self) -> str:
        """What is done, and how it goes on."""
        begins = f"ε = {self.epsilon:g}: {self.candidate.name}" if self.candidate else "from scratch"
        return f"{begins}, {self.recovery}, {self.steps} steps"


class Search:
    """The candidates of several places, tried on practices; every way once."""

    def __init__(self, practices: Sequence[Practice], places: Sequence[Place], target: Target, bars: Bars) -> None:
        self.practices, self.target, self.bars = practices, target, bars
        self.starts = [start for start, _ in places]
        self._designs = {start.name: design for start, design in places}
        self.judges = min(len(practice.judges) for practice in practices)
        self.tried: dict[str, tuple[Trial, Way]] = {}

    def run(self, budget: int) -> None:
        """Tries all that is worth it."""
        first, ways = next(iter(RECOVERIES)), self.ways(budget, self.target.epsilon)
        winner = self.best("noise", [way for way in ways if way.recovery == first and _alone(way)])
        winner = self.best("recovery", [way for way in ways if way.candidate == winner.candidate])
        winner = self.best("gradients", [way for way in ways if way.recovery == winner.recovery and _like(way, winner)])
        self.best("scratch", [Way(None, name, budget, 0.0) for name in RECOVERIES])
        self._around(winner, budget)

    def candidates(self, budget: int, epsilon: float) -> list[Candidate]:
        """What the planner has to offer."""
        target = self.target
        return planning.candidates(
            self.starts, epsilon=epsilon, delta=target.delta, accountant=target.accountant, budget=budget
        )

    def ways(self, budget: int, epsilon: float) -> list[Way]:
        """Every candidate with every recovery."""
        found = self.candidates(budget, epsilon)
        return [Way(one, name, budget, epsilon) for one in found for name in RECOVERIES]

    def best(self, what: str, ways: Sequence[Way]) -> Way:
        """The one with the best mean score."""
        for done, way in enumerate(ways):
            self.bars.move(what, done, len(ways), way.name)
            if way.name not in self.tried:
                scores = tuple(practice.score(self.method(way, practice.seed)) for practice in self.practices)
                kind = "certified" if way.candidate else "from scratch"
                self.tried[way.name] = Trial(way.name, kind, way.epsilon, way.steps, scores, self.judges), way
        self.bars.move(what, len(ways), len(ways))
        return max(ways, key=lambda way: self.tried[way.name][0].score)

    def method(self, way: Way, seed: int) -> methods.Method:
        """As it is run; its noise is simulated, for nothing here is released."""
        one, recipe = way.candidate, RECOVERIES[way.recovery]
        if one is None:
            return methods.FromPublic(FineTune(way.steps, **recipe))
        schedule = {name: getattr(one, name) for name in ("clip", "step_size", "weight_decay", "steps")}
        promise = asdict(self.target) | {"epsilon": way.epsilon, "proximity": one.start.proximity}
        recovery = FineTune(one.recovery, **recipe)
        return methods.BlockwiseNft(**promise, **schedule, design=self._design(one), fine_tune=recovery, simulate=seed)

    def retrained(self) -> Trial:
        """What retraining reaches, and costs."""
        steps = max(practice.retrain_steps for practice in self.practices)
        scores = tuple(practice.retrained for practice in self.practices)
        return Trial("retrained", "retrained", 0.0, steps, scores, self.judges)

    def _design(self, one: Candidate) -> Design:
        own = self._designs[one.start.name]
        return from_description(dict(one.design)) if isinstance(own, Whole) else own

    def _around(self, winner: Way, budget: int) -> None:
        """The winner's kind at other ε and at half the cost, and training from scratch at half the cost: for the front."""
        half = budget // 2
        for steps, epsilon in [(budget, factor * self.target.epsilon) for factor in AROUND] + [
            (half, self.target.epsilon)
        ]:
            alike = [
                way for way in self.ways(steps, epsilon) if way.recovery == winner.recovery and _alike(way, winner)
            ]
            self.best("front", [min(alike, key=lambda way: _distance(way, winner))])
        self.best("front", [Way(None, winner.recovery, half, 0.0)])


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
    """How far the noise that is left is from what the other recovered from: a decay brings it to any level."""
    one, two = way.candidate, other.candidate
    if one is None or two is None or min(one.sigma, two.sigma) == 0.0:
        return 0.0
    return abs(math.log(one.sigma / two.sigma))


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
    recovery = {"steps": one.recovery, **RECOVERIES[way.recovery]}
    schedule = {name: getattr(one, name) for name in ("clip", "step_size", "weight_decay", "steps")}
    if one.design["kind"] == "Core":
        core: dict[str, Any] = {"rank": one.design["rank"], "steps": one.start.steps}
        return {"reset": core, "mechanism": {"design": "Whole", **schedule}, "fine_tune": recovery}
    blocks = {"blocks": one.design["k"]} if "k" in one.design else {}
    return {"mechanism": {"design": one.design["kind"], **blocks, **schedule}, "fine_tune": recovery}
