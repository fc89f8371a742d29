"""One block: the least energy that hides a gap, for any schedule.

The noise σ_t of a step can hide a shift a_t at the cost (a_t/σ_t)². With ρ_t = 1 − γ_tλ_t and s_t = 2γ_tC_t,

    minimise  μ² = Σ (a_t/σ_t)²   subject to   z_{t+1} = ρ_t z_t + s_t − a_t ≥ 0,   z_0 = Δ,   z_T = 0.

Derived in docs/mathematics.md, "One block".
"""

import math
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple, TypeAlias

from ..errors import BudgetError
from .mechanism import Block, Step, contraction
from .rounding import up


class Constant(NamedTuple):
    """T equal steps: a gap Δ shrinks to uΔ, drift adds w, and the noise per unit of σ is √S."""

    decay: float  # u = ρ^T
    drift: float  # w = 2γC₁ Σ ρ^t
    noise: float  # √S, S = Σ ρ^{2t}


class Response(NamedTuple):
    """A block's least energy for a gap Δ is at most P Δ² + 2 Q Δ + B (equal, where the schedule is constant)."""

    gap: float  # P
    cross: float  # Q
    drift: float  # B


FADED = 1e-100  # contraction forgets a gap almost, never quite: without any noise it would still show

# A stretch of the schedule: its noise variance ("clock") and the shift to hide on it, both seen from the last noise.
Segment: TypeAlias = tuple[float, float]


def constant(step: Step, steps: int) -> Constant:
    """The geometric sums of T equal steps, accurate as γλ → 0 and as T → ∞."""
    rate = step.step_size * step.weight_decay  # 1 − ρ
    if rate < FADED:  # the sums are T to the last digit, and a denormal rate has too few digits to divide by
        return Constant(1.0, steps * step.drift, math.sqrt(steps))
    rho = contraction(step.step_size, step.weight_decay)
    log_decay = steps * (math.log1p(-rate) if rate <= 0.5 else math.log(rho))
    drift = step.drift * -math.expm1(log_decay) / rate
    noise = math.sqrt(-math.expm1(2.0 * log_decay) / (rate * (1.0 + rho)))
    return Constant(max(math.exp(log_decay), FADED), drift, noise)


def block_mu(gap: float, block: Block) -> float:
    """The exact μ of one block whose two runs start `gap` apart, rounded up."""
    step = block.steps[0]
    if block.constant:
        decay, drift, noise = constant(step, len(block.steps))
        return up(_hidden(decay * gap + drift, step.sigma * noise))
    if gap == 0.0 and all(step.clip == 0.0 or step.step_size == 0.0 for step in block.steps):
        return 0.0
    decay, segments = _seen_from_last_noise(block)
    hull = _convex_minorant(chain([(0.0, decay * gap)], segments))
    return up(math.hypot(*[_hidden(shift, math.sqrt(clock)) for clock, shift in hull]), len(block.steps))


def block_response(block: Block) -> Response:
    """P, Q and B of a block: the policy for the gap alone and the one for the drift alone, added."""
    step = block.steps[0]
    if block.constant:
        decay, drift, noise = constant(step, len(block.steps))
        per_gap, per_drift = _hidden(decay, step.sigma * noise), _hidden(drift, step.sigma * noise)
        return Response(per_gap**2, per_gap * per_drift, per_drift**2)
    decay, segments = _seen_from_last_noise(block)
    clock = math.fsum(clock for clock, _ in segments)
    drift = math.fsum(shift for _, shift in segments)
    energy = math.fsum(shift**2 / clock for clock, shift in _convex_minorant(segments))
    return Response(decay**2 / clock, decay * drift / clock, energy)


def _hidden(shift: float, sigma: float) -> float:
    """shift/σ, the μ of hiding a shift in noise σ; impossible without noise."""
    if shift == 0.0:
        return 0.0
    if sigma == 0.0:
        raise BudgetError("a block without noise cannot hide a gap: give it sigma > 0.")
    if math.isinf(result := shift / sigma):
        raise BudgetError(f"sigma = {sigma:g} is vanishingly small beside a shift of {shift:g}: raise sigma.")
    return result


def _seen_from_last_noise(block: Block) -> tuple[float, list[Segment]]:
    """Every step's noise and drift, scaled by the contraction between it and the last noisy step (and the gap's scale).

    Seen from there nothing overflows: what the contraction has forgotten fades to zero.
    """
    last = max((i for i, step in enumerate(block.steps) if step.sigma > 0.0), default=None)
    if last is None:
        raise BudgetError("a block without noise cannot hide a gap: give at least one step sigma > 0.")
    for index, step in enumerate(block.steps[last + 1 :], last + 1):
        if step.drift > 0.0:
            raise BudgetError(
                f"step {index} has clip {step.clip:g} and no noise follows it, so nothing can hide its drift: "
                f"end the block with a noisy step (the last one is step {last}), or set that clip to 0."
            )
    scale = 1.0
    segments: list[Segment] = []
    for step in reversed(block.steps[: last + 1]):  # written out: schedules have a million steps
        step_size, rate = step.step_size, step.step_size * step.weight_decay
        segments.append(((step.sigma * scale) ** 2, 2.0 * step_size * step.clip * scale))
        scale *= 1.0 - rate if rate <= 0.5 else contraction(step_size, step.weight_decay)
    segments.reverse()
    return max(scale, FADED), segments


def _convex_minorant(segments: Iterable[Segment]) -> list[Segment]:
    """Pool adjacent segments until shift/clock rises from left to right: the greatest convex minorant, in O(T).

    What must be hidden can be hidden now or later, never before it is there. A segment without noise leaves its shift
    to the next one.
    """
    hull: list[Segment] = []
    waiting = 0.0
    for clock, shift in segments:
        if clock == 0.0:
            waiting += shift
            continue
        shift += waiting
        waiting = 0.0
        while hull and hull[-1][1] * clock >= shift * hull[-1][0]:
            left = hull.pop()
            clock, shift = clock + left[0], shift + left[1]
        hull.append((clock, shift))
    return hull
