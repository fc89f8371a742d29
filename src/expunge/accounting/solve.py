"""The other way round: how much noise, and how many steps, a budget μ asks for. Integers first: T is a whole number."""

import math
from collections.abc import Iterable, Sequence

from ..errors import BudgetError, ConfigError
from .checks import SMALLEST, distance, number, whole
from .mechanism import Block, Step, as_blocks
from .rounding import MARGIN
from .shift import block_mu, constant
from .split import mu as run_mu

MOST_STEPS = 10**12  # of a closed form; a Block lists its steps one by one and holds fewer

_SAFE = 1.0 + 4.0 * MARGIN  # a σ rounded up this much gives back a μ within the budget, itself rounded up


def sigma(mu: float, gap: float, *, step_size: float, weight_decay: float, clip: float, steps: int) -> float:
    """The least σ for T equal steps on the whole parameter vector, or on k equal blocks that clip at C₁/√k.

    σ(T) = R/(μ√S), rounded up;  R = ρ^T Δ + 2γC₁ Σρ^t,  S = Σρ^{2t}.
    """
    mu = number("mu", mu, least=SMALLEST)
    gap = distance("gap", gap)
    decay, drift, noise = constant(Step(step_size, weight_decay, clip, 0.0), whole("steps", steps, most=MOST_STEPS))
    left = decay * gap + drift
    return max(left / (mu * noise) * _SAFE, SMALLEST) if left > 0.0 else 0.0


def optimal_steps(gap: float, *, step_size: float, weight_decay: float, clip: float) -> float:
    """The paper's T* = log(1 − λΔ/(2C₁))/log(1 − γλ), a real number (Theorem 1, with C₀ = Δ/2)."""
    step = Step(step_size, weight_decay, clip, 0.0)
    gap = distance("gap", gap)
    if step.drift == 0.0 or step.weight_decay * gap >= 2.0 * step.clip:
        raise BudgetError(
            f"there is no best number of steps: with weight_decay × gap = {step.weight_decay * gap:g} and "
            f"2 × clip = {2.0 * step.clip:g} the noise only falls as steps grow. Give steps."
        )
    rate = step.step_size * step.weight_decay
    if rate == 0.0:
        return gap / step.drift
    return math.log1p(-step.weight_decay * gap / (2.0 * step.clip)) / math.log1p(-rate)


def best_steps(gap: float, *, step_size: float, weight_decay: float, clip: float) -> int:
    """The whole number of steps, at least 1, that needs the least noise: a neighbour of T*."""
    schedule = {"step_size": step_size, "weight_decay": weight_decay, "clip": clip}
    optimum = optimal_steps(gap, **schedule)
    if optimum >= MOST_STEPS:
        raise BudgetError(
            f"the best number of steps is {optimum:.3g}, beyond every run. Raise step_size, or give steps."
        )
    low = max(1, math.floor(optimum))
    return min((low, low + 1), key=lambda steps: sigma(1.0, gap, **schedule, steps=steps))


def scale_noise(mu: float, gap: float, blocks: Block | Iterable[Block]) -> tuple[Block, ...]:
    """The same schedules with every σ multiplied by one factor, so that the run just fits in μ."""
    mu, blocks = number("mu", mu, least=SMALLEST), as_blocks(blocks)
    factor = run_mu(gap, blocks) / mu * (_SAFE + sum(len(block.steps) for block in blocks) * 2.0**-50)
    return tuple(block.with_noise(factor) for block in blocks)


def allocate(
    mu: float,
    blocks: Iterable[Block],
    *,
    gaps: Sequence[float],
    dimensions: Sequence[int],
    weights: Sequence[float] | None = None,
) -> tuple[Block, ...]:
    """Noise for known per-block gaps: the least Σ w_i r_i σ_i² with a total of μ.

    Only the shape of each block's noise schedule counts; its σ's are rescaled. With e_i the block's μ under that shape
    (σ_i = 1), Σ(e_i/σ_i)² = μ² and Lagrange give σ_i² = (e_i/√(w_i r_i)) · Σ_j e_j √(w_j r_j) / μ². Weights (default 1)
    say how much a unit of noise hurts in a block. A block with nothing to hide gets no noise.
    """
    mu, blocks = number("mu", mu, least=SMALLEST), as_blocks(blocks)
    weights = [1.0] * len(blocks) if weights is None else weights
    if not len(gaps) == len(dimensions) == len(weights) == len(blocks):
        raise ConfigError(
            f"gaps, dimensions and weights must have one value per block ({len(blocks)}); "
            f"got {len(gaps)}, {len(dimensions)} and {len(weights)}."
        )
    gaps = [distance(f"gaps[{i}]", gap) for i, gap in enumerate(gaps)]
    costs = [
        math.sqrt(number(f"weights[{i}]", weight, above=0.0) * whole(f"dimensions[{i}]", size))
        for i, (weight, size) in enumerate(zip(weights, dimensions, strict=True))
    ]
    needs = [block_mu(gap, block) for gap, block in zip(gaps, blocks, strict=True)]
    total = math.fsum(need * cost for need, cost in zip(needs, costs, strict=True))
    factors = [math.sqrt(need * total / cost) / mu * _SAFE for need, cost in zip(needs, costs, strict=True)]
    return tuple(block.with_noise(factor) for block, factor in zip(blocks, factors, strict=True))
