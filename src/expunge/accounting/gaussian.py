"""Gaussian differential privacy: the exact curve between μ and (ε, δ).

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)            (Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, Corollary 1)

With a = ε/μ − μ/2, b = ε/μ + μ/2 and Mills' ratio M this is φ(a)(M(a) − M(b)), because e^ε φ(b) = φ(a); and for
small μ, where the two nearly cancel, φ(a) ∫_a^b (1 − x M(x)) dx. Nothing overflows, and every digit counts.
"""

import math

from ..errors import BudgetError
from . import renyi
from .checks import distance, number, probability
from .mills import ROOT_TWO_PI, mills, mills_slope
from .rounding import MARGIN, down, largest, smallest, up

LARGEST_MU = 1e6
LARGEST_EPSILON = 1e12

# Gauss–Legendre on [0, 1], ten points: exact to 1e-19 for a function as smooth as 1 − x M(x) on an interval ≤ 1/2.
_NODES = (0.013046735741414128, 0.06746831665550773, 0.16029521585048778, 0.2833023029353764, 0.42556283050918436)
_WEIGHTS = (0.03333567215434403, 0.07472567457529031, 0.10954318125799102, 0.13463335965499817, 0.14776211235737644)


def mu(epsilon: float, delta: float) -> float:
    """The largest μ that fits in (ε, δ), rounded down."""
    epsilon = number("epsilon", epsilon, least=0.0, most=LARGEST_EPSILON)
    delta = probability("delta", delta)
    target = math.log(delta)
    # Both are feasible starts: Rényi is the looser accountant, and δ(ε) ≤ δ(0) ≤ μ/√(2π).
    start = max(renyi.mu(epsilon, delta) if epsilon > 0.0 else 0.0, delta * ROOT_TWO_PI) * (1.0 - 1e-9)
    return down(largest(lambda trial: _log_delta(trial, epsilon) <= target, start))


def epsilon(mu: float, delta: float) -> float:
    """The smallest ε with (ε, δ) for a μ-GDP run, rounded up."""
    mu = distance("mu", mu)
    if mu > LARGEST_MU:
        raise BudgetError(f"mu = {mu:.6g} is no privacy at all (at most {LARGEST_MU:g} is converted). Raise sigma.")
    delta = probability("delta", delta)
    target = math.log(delta)
    if _log_delta(mu, 0.0) <= target:
        return 0.0
    return smallest(lambda trial: _log_delta(mu, trial) <= target, renyi.epsilon(mu, delta) * (1.0 + 1e-9))


def delta(mu: float, epsilon: float) -> float:
    """The smallest δ with (ε, δ) for a μ-GDP run, rounded up."""
    mu = number("mu", distance("mu", mu), most=LARGEST_MU)
    epsilon = number("epsilon", epsilon, least=0.0, most=LARGEST_EPSILON)
    if mu == 0.0:
        return 0.0
    return min(1.0, max(up(math.exp(_log_delta(mu, epsilon))), math.ulp(0.0)))


def _log_delta(mu: float, epsilon: float) -> float:
    """Log δ(ε), above its true value by at most the margin."""
    if mu == 0.0:
        return -math.inf
    a, b = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    # a is off by a few units of b, and log φ(a) by |a| times that.
    margin = MARGIN + (1.0 + abs(a)) * b * 2.0**-50
    if mu < 0.5:
        return _log_density(a) + math.log(_mills_difference(a, mu)) + margin
    if a > 0.0:
        return _log_density(a) + math.log(mills(a) - mills(b)) + margin
    return math.log(0.5 * math.erfc(a / math.sqrt(2.0)) - math.exp(_log_density(a)) * mills(b)) + margin


def _log_density(x: float) -> float:
    return -0.5 * x * x - math.log(ROOT_TWO_PI)


def _mills_difference(a: float, width: float) -> float:
    """M(a) − M(a + width), as the integral of −M′."""
    pairs = zip(_NODES, _WEIGHTS, strict=True)
    return width * math.fsum(
        weight * (mills_slope(a + node * width) + mills_slope(a + (1.0 - node) * width)) for node, weight in pairs
    )
