"""RMIA, the robust membership inference attack (Zarifzadeh et al. 2024): how many other samples does this one beat?

    score(x) = share of population samples z with  (p(x|θ)/p(x)) / (p(z|θ)/p(z)) ≥ γ

p(x|θ) is the audited model's probability of x's label, and p(x) its mean over models, half of them trained on x. Retrained
models were not, so p(x) = ((1 + a) p_out(x) + 1 − a)/2 stands in for it (the offline form). One retrained model is enough.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, DataError
from . import roc
from .lira import statistics
from .outputs import Outputs

Array = NDArray[Any]


def rmia(
    outputs: Outputs, retrained: Sequence[Outputs], *, gamma: float = 2.0, a: float = 0.3, seed: int = 0
) -> dict[str, Any]:
    """Forgotten against unseen samples. A random half of the unseen ones is the population, the other half is judged."""
    if not gamma >= 1.0 or not 0.0 <= a <= 1.0:
        raise ConfigError(f"gamma must be at least 1, and a between 0 and 1; got {gamma!r} and {a!r}.")
    phi, out = statistics(outputs, retrained)
    forget, unseen = np.split(ratios(phi, out, a=a), [len(outputs.forget)])
    if len(unseen) < 2:
        raise DataError("RMIA needs two unseen test samples or more, one to judge and one to compare with.")
    mixed = np.random.default_rng(seed).permutation(unseen)
    population, judged = np.split(mixed, [len(unseen) // 2])
    found = roc.measured(score(forget, population, gamma=gamma), score(judged, population, gamma=gamma))
    return {**found, "models": len(retrained), "population": len(population), "gamma": gamma, "a": a}


def ratios(phi: Array, out: Array, *, a: float = 0.3) -> Array:
    """p(x|θ)/p(x), from φ of the audited model and (models × samples) of those that never saw x."""
    marginal = ((1.0 + a) * _probability(out).mean(axis=0) + 1.0 - a) / 2.0
    return _probability(phi) / marginal


def score(ratio: Array, population: Array, *, gamma: float = 2.0) -> Array:
    """Share of the population that each ratio beats by the factor γ."""
    return np.searchsorted(np.sort(population) * gamma, ratio, side="right") / len(population)


def _probability(phi: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-np.clip(phi, -500.0, 500.0)))
