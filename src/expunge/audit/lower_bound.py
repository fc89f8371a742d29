"""A lower bound on ε from repeated runs: what the mechanism costs at least, whatever any proof says.

Two kinds of run, each repeated with fresh noise: the unlearned model, and the reference, retrained without the data and put
through the same unlearning. Each run gives one number, the score. An event S ("the score is above t", or below) has
probability P(S) after unlearning and Q(S) after the reference, and every such pair is evidence:

    (ε, δ)        P(S) ≤ e^ε Q(S) + δ, so ε ≥ log((P(S) − δ)/Q(S)); the same with P and Q exchanged. Assumes nothing.
    Gaussian DP   a μ-GDP mechanism has Φ⁻¹(P(S)) − Φ⁻¹(Q(S)) ≤ μ (Dong, Roth & Su 2022; used so by Nasr et al. 2023), and
                  ε follows from μ and δ. As a test of a *certified* μ this too assumes nothing. As a bound on ε it assumes
                  that the mechanism's curve is a Gaussian one, as the certificate claims.

The event is chosen on the first half of the runs. On the second half P(S) and Q(S) are bounded by Clopper and Pearson's
exact one-sided intervals, each with half the risk: a bound is above the truth with probability at most 1 − confidence.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..accounting import gaussian
from ..errors import ConfigError, DataError, ViolationError
from . import roc

Array = NDArray[Any]
FEWEST = 20  # runs of each kind
THRESHOLDS = 2000  # quantiles that are tried on the first half
ALARM = 0.9999  # a violation is called at this confidence: one false alarm in ten thousand audits


@dataclass(frozen=True)
class Event:
    """S, what it was found to prove, and how often it happened on the second half, in counts."""

    bound: float
    threshold: float
    above: bool
    unlearned_likelier: bool
    likelier_count: int
    other_count: int


@dataclass(frozen=True)
class LowerBound:
    """At least this much, with this confidence (each bound by itself)."""

    epsilon: float
    mu: float
    epsilon_if_gaussian: float
    delta: float
    confidence: float
    runs: tuple[int, int]
    judged: tuple[int, int]
    events: dict[str, Event]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def lower_bound(unlearned: Any, reference: Any, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """From the scores of unlearned and of reference runs, in the order in which they were run."""
    if not 0.0 <= delta < 1.0 or not 0.5 <= confidence < 1.0:
        raise ConfigError(f"delta must be in [0, 1) and confidence in [0.5, 1); got {delta!r} and {confidence!r}.")
    runs = (roc.scores("unlearned runs", unlearned), roc.scores("reference runs", reference))
    if min(map(len, runs)) < FEWEST:
        raise DataError(
            f"a lower bound needs {FEWEST} runs of each kind or more; got {len(runs[0])} and {len(runs[1])}."
        )
    first, second = zip(*(np.split(scores, [len(scores) // 2]) for scores in runs), strict=True)
    tail = (1.0 - confidence) / 2.0
    proofs = {"epsilon": lambda p, q: _from_odds(p, q, delta), "mu": _from_gaussian}
    events = {name: _judge(_choose(first, proof, tail), second, proof, tail) for name, proof in proofs.items()}
    mu = events["mu"].bound
    return LowerBound(
        epsilon=events["epsilon"].bound,
        mu=mu,
        epsilon_if_gaussian=gaussian.epsilon(mu, delta) if mu > 0.0 and delta > 0.0 else 0.0,
        delta=delta,
        confidence=confidence,
        runs=(len(runs[0]), len(runs[1])),
        judged=(len(second[0]), len(second[1])),
        events=events,
    )


def refuse_violation(
    unlearned: Any, reference: Any, *, epsilon: float, delta: float, mu: float | None = None, confidence: float = ALARM
) -> None:
    """Raise a ViolationError if the runs prove more than the certificate allows."""
    found = lower_bound(unlearned, reference, delta=delta, confidence=confidence)
    proved = [("epsilon", found.epsilon, epsilon)] + ([("mu", found.mu, mu)] if mu is not None else [])
    for name, bound, certified in proved:
        if bound > certified:
            event = found.events[name]
            raise ViolationError(
                f"THE CERTIFICATE IS VIOLATED. {sum(found.runs)} runs prove {name} >= {bound:.6g} with confidence "
                f"{confidence:g}, and {certified:.6g} is certified (delta {delta:g}). The event: score "
                f"{'above' if event.above else 'at most'} {event.threshold:.6g}, {event.likelier_count} of "
                f"{found.judged[not event.unlearned_likelier]} times against {event.other_count} of "
                f"{found.judged[event.unlearned_likelier]}. Release nothing. Either the proximity does not hold for these "
                "runs, or an assumption or the code is wrong."
            )


Choice = tuple[float, bool, bool]  # threshold, above it, unlearned runs likelier


def _choose(runs: tuple[Array, ...], proof: Any, tail: float) -> Choice:
    """The event that would prove most on these runs."""
    pooled = np.concatenate(runs)
    levels = np.unique(np.quantile(pooled, np.linspace(0.0, 1.0, THRESHOLDS), method="lower"))
    over = [len(scores) - np.searchsorted(np.sort(scores), levels, side="right") for scores in runs]
    best, chosen = -math.inf, (float(levels[0]), True, True)
    for above in (True, False):
        counts = over if above else [len(scores) - c for scores, c in zip(runs, over, strict=True)]
        for first in (True, False):
            worth = _proved(counts, [len(scores) for scores in runs], first, proof, tail)
            at = int(np.argmax(worth))
            if worth[at] > best:
                best, chosen = float(worth[at]), (float(levels[at]), above, first)
    return chosen


def _judge(choice: Choice, runs: tuple[Array, ...], proof: Any, tail: float) -> Event:
    """What it proves on other runs."""
    threshold, above, first = choice
    counts = [int(((scores > threshold) == above).sum()) for scores in runs]
    bound = max(0.0, float(_proved(counts, [len(scores) for scores in runs], first, proof, tail)))
    return Event(bound, threshold, above, first, counts[not first], counts[first])


def _proved(counts: Any, sizes: list[int], first: bool, proof: Any, tail: float) -> Any:
    likelier, other = (0, 1) if first else (1, 0)
    low = roc.binomial_low(counts[likelier], sizes[likelier], tail)
    return proof(low, roc.binomial_high(counts[other], sizes[other], tail))


def _from_odds(p: Any, q: Any, delta: float) -> Any:
    return np.log(np.maximum(np.asarray(p) - delta, 1e-300) / q)


def _from_gaussian(p: Any, q: Any) -> Any:
    return ndtri(np.clip(p, 1e-300, 1.0)) - ndtri(np.clip(q, 0.0, 1.0 - 1e-16))
