"""The paper's accountant: Rényi divergence D_q ≤ qμ²/2 and  ε = ε_R + log(1/δ)/(q − 1),  at the best order q.

With a = log(1/δ):  q* = 1 + (a + √(a(a+ε)))/ε,  ε_R* = ε + a − √(a(a+ε)),  and  ε = μ²/2 + μ√(2a).
All are written without cancellation. Looser than `gaussian`; kept to follow the paper and to compare.
"""

import math

from .checks import SMALLEST, distance, number, probability
from .rounding import down, up


def mu(epsilon: float, delta: float) -> float:
    """The largest μ that fits in (ε, δ), rounded down:  μ = √(2ε_R*/q*) = √(2a + 2ε) − √(2a)."""
    epsilon = number("epsilon", epsilon, least=SMALLEST)
    a = -math.log(probability("delta", delta))
    return down(2.0 * epsilon / (math.sqrt(2.0 * a) + math.sqrt(2.0 * a + 2.0 * epsilon)))


def epsilon(mu: float, delta: float) -> float:
    """The smallest ε with (ε, δ), rounded up."""
    mu = distance("mu", mu)
    a = -math.log(probability("delta", delta))
    return up(mu * (mu / 2.0 + math.sqrt(2.0 * a)))


def delta(mu: float, epsilon: float) -> float:
    """The smallest δ with (ε, δ), rounded up; 1 (nothing) where ε ≤ μ²/2."""
    mu = distance("mu", mu)
    epsilon = number("epsilon", epsilon, least=0.0)
    if mu == 0.0:
        return 0.0
    root = max(0.0, epsilon / mu - mu / 2.0)  # √(2a), off by a few units of its terms
    exponent = 0.5 * root * root
    slack = root * (epsilon / mu + mu / 2.0) * 2.0**-50
    return min(1.0, max(up(math.exp(slack - exponent)), math.ulp(0.0)))


def order(epsilon: float, delta: float) -> tuple[float, float]:
    """(q*, ε_R*): the order and Rényi budget that ask for the least noise, to nearest; for anything certified use μ."""
    epsilon = number("epsilon", epsilon, least=SMALLEST)
    a = -math.log(probability("delta", delta))
    root = math.sqrt(a * (a + epsilon))
    return 1.0 + (a + root) / epsilon, epsilon * ((epsilon + a) / (epsilon + a + root))
