"""The paper's own closed forms, under its own (Rényi) accountant, to follow it and to show the difference.

    gap Δ = 2C₀      step_size γ      weight_decay λ      clip C₁      q, ε_R: `renyi.order(epsilon, delta)`

`minimal_sigma` is reached only at a real number of steps; every run has a whole one. Use `solve.sigma`.
See docs/paper.md.
"""

import math
from typing import NamedTuple

from ..errors import BudgetError
from . import renyi
from .checks import SMALLEST, distance, number, probability, whole
from .mechanism import Step
from .rounding import up
from .solve import optimal_steps as optimal_steps


class Initialization(NamedTuple):
    """A starting point for the search over noise and clip."""

    sigma: float
    clip: float


def minimal_sigma(
    gap: float, *, step_size: float, weight_decay: float, clip: float, epsilon: float, delta: float
) -> float:
    """Theorem 1: σ²_min = γ(2 − γλ)(2q/ε_R)(2 − λC₀/C₁)C₀C₁ for λC₀/C₁ < 1; from there on the infimum as T → ∞."""
    rate, half = _rate(step_size, weight_decay), distance("gap", gap) / 2.0
    clip = number("clip", clip, above=0.0)
    scale = step_size * (2.0 - rate) * 4.0 / renyi.mu(epsilon, delta) ** 2  # 2q/ε_R = 4/μ²
    pull = weight_decay * half / clip
    return math.sqrt(scale * (2.0 - pull) * half * clip) if pull < 1.0 else math.sqrt(scale * clip**2 / weight_decay)


def sigma_at(
    gap: float,
    steps: float,
    *,
    step_size: float,
    weight_decay: float,
    clip: float,
    epsilon: float,
    delta: float,
) -> float:
    """σ(T) for a real T, λ > 0 and C₁ > 0: σ² = (2q/ε_R)(C₁/λ)² γλ(2 − γλ)(1 − zx)²/(1 − x²), x = (1 − γλ)^T.

    z = 1 − λC₀/C₁. The same curve as the paper's quadratic in 1/σ², without solving it, and stable as z → 0.
    """
    rate, half = _rate(step_size, weight_decay), distance("gap", gap) / 2.0
    steps, clip = number("steps", steps, least=SMALLEST), number("clip", clip, above=0.0)
    log_x = steps * math.log1p(-number("step_size × weight_decay", rate, least=SMALLEST))
    x = math.exp(log_x)
    left = clip / weight_decay * -math.expm1(log_x) + x * half  # (C₁/λ)(1 − zx)
    return 2.0 * left / renyi.mu(epsilon, delta) * math.sqrt(rate * (2.0 - rate) / -math.expm1(2.0 * log_x))


def initialization(
    gap: float, steps: int, *, step_size: float, weight_decay: float, epsilon: float, delta: float
) -> Initialization:
    """The clip at which T steps are the best number, and its σ, with C₀ = Δ/2 (the appendix's, corrected).

    σ² = γλ(2 − γλ)·(1 + x)/(1 − x)·(q/(2ε_R))·Δ²,   C₁ = λΔ/(2(1 − x)),   x = (1 − γλ)^T.
    """
    rate, gap = _rate(step_size, weight_decay), distance("gap", gap)
    number("step_size × weight_decay", rate, least=SMALLEST)
    log_x = whole("steps", steps) * math.log1p(-rate)
    rest = -math.expm1(log_x)  # 1 − x
    sigma = gap / renyi.mu(epsilon, delta) * math.sqrt(rate * (2.0 - rate) * (1.0 + math.exp(log_x)) / rest)
    return Initialization(sigma, weight_decay * gap / (2.0 * rest))


def initialization_as_printed(
    gap: float, steps: int, *, step_size: float, weight_decay: float, epsilon: float, delta: float
) -> Initialization:
    """What the appendix prints: 8q/ε_R and 2λΔ/(1 − x), which belong to C₀ = 2Δ. Both are four times too large."""
    ours = initialization(gap, steps, step_size=step_size, weight_decay=weight_decay, epsilon=epsilon, delta=delta)
    return Initialization(4.0 * ours.sigma, 4.0 * ours.clip)


def fresh_start_success(success: float, *, epsilon: float, delta: float) -> float:
    """A lower bound on success from a *fresh* initialisation, after as many steps (Proposition 1).

    If a run certified for any two starts succeeds from the trained model with probability p, it succeeds from a random
    one with probability ≥ 1 − e^ε(1 − p) − 2δ. The bound is 0 where it says nothing.
    """
    success = number("success", success, least=0.0, most=1.0)
    epsilon = number("epsilon", epsilon, least=0.0)
    delta = probability("delta", delta)
    if success == 1.0:
        return max(0.0, 1.0 - 2.0 * delta)
    log_failure = epsilon + math.log1p(-success)
    return max(0.0, 1.0 - math.exp(log_failure) - 2.0 * delta) if log_failure < 0.0 else 0.0


def budget_after(gap: float, new_gap: float, *, epsilon: float, delta: float) -> float:
    """ε′ by the paper's re-certification rule: Δ′ = mΔ, m ≥ 1, costs B′ = B/m², that is μ′ = mμ (drift and all)."""
    gap = number("gap", gap, above=0.0)
    new_gap = number("new_gap", new_gap, above=0.0)
    if new_gap < gap:
        raise BudgetError(f"the paper's rule is for a larger gap: new_gap must be at least {gap:g}; got {new_gap:g}.")
    return renyi.epsilon(up(renyi.mu(epsilon, delta) * (new_gap / gap), 2), delta)


def _rate(step_size: float, weight_decay: float) -> float:
    """γλ, checked."""
    Step(step_size, weight_decay, 0.0, 0.0)
    return step_size * weight_decay
