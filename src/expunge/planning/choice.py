"""Which way to go, from what was tried on other models and other requests: the front, one recommendation, or none.

A trial has a score (accuracy on samples that nobody trained on), and what it costs: ε and steps on retained data. Trials
without an ε never saw the removed data, and promise everything.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from ..accounting.checks import number
from ..errors import ConfigError

Verdict = Literal["unlearn", "train afresh", "retrain"]


@dataclass(frozen=True)
class Trial:
    """One way, tried on one model or on several. `epsilon` is 0 where the removed data were never seen.

    judges      samples behind each score, where it is a share of them
    """

    name: str
    kind: Literal["certified", "from scratch", "retrained"]
    epsilon: float
    steps: int
    scores: tuple[float, ...]
    judges: int = 0

    def __post_init__(self) -> None:
        if not self.scores or not all(math.isfinite(score) for score in self.scores):
            raise ConfigError(f"a trial needs one finite score or more; {self.name!r} has {self.scores!r:.80}.")

    @property
    def score(self) -> float:
        """Mean."""
        return fmean(self.scores)

    @property
    def spread(self) -> float:
        """Standard error of the mean: from the scores, or that of a share of so many judges where it is larger."""
        drawn = self.judges * len(self.scores)
        share = math.sqrt(max(0.0, self.score * (1.0 - self.score)) / drawn) if drawn else 0.0
        between = stdev(self.scores) / math.sqrt(len(self.scores)) if len(self.scores) > 1 else 0.0
        return max(share, between)

    def beats(self, other: "Trial") -> bool:
        """At least as good in score, ε and steps, and better in one of them."""
        own, rival = (self.score, -self.epsilon, -self.steps), (other.score, -other.epsilon, -other.steps)
        return own != rival and all(mine >= theirs for mine, theirs in zip(own, rival, strict=True))


@dataclass(frozen=True)
class Advice:
    """What to do, which trial shows it, and why. `best` is the best certified one, whatever the verdict."""

    verdict: Verdict
    best: Trial
    why: str


def front(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that no other beats, the smallest ε first."""
    kept = [one for one in trials if not any(other.beats(one) for other in trials)]
    return sorted(kept, key=lambda one: (one.epsilon, one.steps))


def advise(trials: Sequence[Trial], *, epsilon: float, tolerance: float = 0.01) -> Advice:
    """The best certified trial within ε, unless something without any ε is as good.

    tolerance   how much score may be lost against retraining before retraining is the advice
    """
    number("tolerance", tolerance, least=0.0)
    within = [one for one in trials if one.kind == "certified" and one.epsilon <= epsilon]
    afresh = [one for one in trials if one.kind == "from scratch"]
    again = [one for one in trials if one.kind == "retrained"]
    if not (within and afresh and again):
        raise ConfigError(
            f"advice needs a certified trial within epsilon {epsilon:g}, one from scratch and one retrained; got "
            f"{len(within)}, {len(afresh)} and {len(again)}."
        )
    best, scratch, exact = (max(group, key=lambda one: one.score) for group in (within, afresh, again))
    doubt = 2.0 * math.hypot(best.spread, scratch.spread)
    if exact.steps <= best.steps:
        return Advice("retrain", best, f"retraining takes {exact.steps} steps, no more than the best certified way.")
    if scratch.score + doubt >= best.score and scratch.score >= exact.score - tolerance:
        why = f"{scratch.steps} steps from the public initialisation reach {scratch.score:.2%}, "
        chance = ", a lead that chance explains" if scratch.score < best.score else ""
        why += f"the best certified way {best.score:.2%}{chance}. Training afresh needs no certificate."
        return Advice("train afresh", best, why)
    if best.score < exact.score - tolerance:
        why = f"the best certified way reaches {best.score:.2%}, retraining {exact.score:.2%}: more is lost than "
        return Advice(
            "retrain", best, why + f"{tolerance:.2%}. More budget, a larger epsilon or a smaller gap may help."
        )
    why = f"{best.score:.2%} in {best.steps} steps; retrained {exact.score:.2%} in {exact.steps}, from scratch "
    return Advice("unlearn", best, why + f"{scratch.score:.2%} in {scratch.steps}.")
