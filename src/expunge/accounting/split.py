"""Several orthogonal blocks: where the gap lies among them is unknown, so take the worst split.

    μ² = max over ΣΔ_i² ≤ Δ²  of  Σ_i P_i Δ_i² + 2 Q_i Δ_i + B_i        (P, Q, B: `shift.Response`)

A convex quadratic on a sphere. Its dual is one-dimensional, and *every* ν > max P_i gives an upper bound:

    g(ν) = ν Δ² + Σ_i Q_i²/(ν − P_i) + Σ_i B_i,      least where  Σ_i (Q_i/(ν − P_i))² = Δ²  (the secular equation).

So an inexact root costs a little tightness, never validity. See docs/mathematics.md, "Blocks".
"""

import math
from collections.abc import Iterable, Sequence

from ..errors import BudgetError, ConfigError
from .checks import distance
from .mechanism import Block, as_blocks
from .rounding import smallest, up
from .shift import Response, block_mu, block_response


def mu(
    gap: float | None = None,
    blocks: Block | Iterable[Block] = (),
    *,
    gaps: Iterable[float] | None = None,
) -> float:
    """The μ of a run, rounded up: it is μ-Gaussian-DP between starts `gap` apart, however the gap lies in the blocks.

    Pass `gaps` (one per block) instead when the proximity of every block is known by itself.
    """
    blocks = as_blocks(blocks)
    if (gap is None) == (gaps is None):
        raise ConfigError("give either gap (of the whole parameter vector) or gaps (one per block).")
    result = _worst_split(distance("gap", gap), blocks) if gaps is None else _known(tuple(gaps), blocks)
    if not math.isfinite(result):
        raise BudgetError("mu is beyond every budget: the noise is vanishingly small beside the gap. Raise sigma.")
    return result


def _known(gaps: Sequence[float], blocks: Sequence[Block]) -> float:
    if len(gaps) != len(blocks):
        raise ConfigError(f"gaps must have one value per block: got {len(gaps)} for {len(blocks)} blocks.")
    gaps = [distance(f"gaps[{i}]", gap) for i, gap in enumerate(gaps)]
    parts = [block_mu(gap, block) for gap, block in zip(gaps, blocks, strict=True)]
    return parts[0] if len(parts) == 1 else up(math.hypot(*parts), len(parts))


def _worst_split(gap: float, blocks: Sequence[Block]) -> float:
    if all(block.steps == blocks[0].steps for block in blocks):  # the equal split is the worst one
        root = math.sqrt(len(blocks))
        return up(root * block_mu(gap / root, blocks[0])) if len(blocks) > 1 else block_mu(gap, blocks[0])
    responses = [block_response(block) for block in blocks]
    terms = sum(len(block.steps) for block in blocks)
    return up(math.sqrt(_largest_energy(gap, responses)), terms)


def _largest_energy(gap: float, responses: Sequence[Response]) -> float:
    drift = math.fsum(r.drift for r in responses)
    top = max(r.gap for r in responses)
    if gap * top < 1e-100:  # the contraction has forgotten every gap: Cauchy–Schwarz is bound enough
        return top * gap**2 + 2.0 * gap * math.hypot(*(r.cross for r in responses)) + drift
    # In units of max P and of Δ: below = 1 − P_i/max P, cross = Q_i/(Δ max P), ν = max P · (1 + excess).
    cross = [r.cross / (gap * top) for r in responses]
    below = [(top - r.gap) / top for r in responses]
    excess = _secular_root(cross, below)
    pull = math.fsum(c * (c / (excess + b)) for c, b in zip(cross, below, strict=True) if c > 0.0)
    return gap * gap * top * (1.0 + excess + pull) + drift


def _secular_root(cross: Sequence[float], below: Sequence[float]) -> float:
    """The smallest x ≥ 0 with Σ (cross_i/(x + below_i))² ≤ 1; 0 is the hard case: the top block takes the rest."""
    pairs = [(c, b) for c, b in zip(cross, below, strict=True) if c > 0.0]

    def inside(x: float) -> bool:
        return all(x + b > 0.0 for _, b in pairs) and math.hypot(*[c / (x + b) for c, b in pairs]) <= 1.0

    return 0.0 if inside(0.0) else smallest(inside, math.hypot(*cross) * (1.0 + 1e-9))
