"""The adversary of the accountant's proof, simulated: two runs of a ledger, pushed apart at full clip in every step.

    x ← x − γ(±C₁ + λx) + N(0, σ²)        from ±gap/2, in each block along one direction, the one where the models differ

Nothing else of a model matters to an attacker then. The best score of the released x is Σ_i R_i x_i / V_i, with R_i the
distance of the two means in block i and V_i the variance. With it, `lower_bound` must come close to the accountant.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..accounting import Block
from ..errors import ConfigError

Array = NDArray[Any]


def worst_case(blocks: Sequence[Block], gaps: Sequence[float], *, runs: int, seed: int) -> tuple[Array, Array]:
    """Scores of `runs` unlearned and as many reference runs; `gaps` says how far apart they start in each block."""
    if len(gaps) != len(blocks) or runs < 1:
        raise ConfigError(
            f"give one gap for each of {len(blocks)} blocks, and 1 run or more; got {len(gaps)} and {runs}."
        )
    chance, scores = np.random.default_rng(seed), np.zeros((2, runs))
    for block, gap in zip(blocks, gaps, strict=True):
        distance, variance = separation(block, gap)
        ends = [
            final(block, sign * gap / 2.0, -sign, chance.standard_normal((len(block.steps), runs))) for sign in (1, -1)
        ]
        scores += np.stack(ends) * distance / variance
    return scores[0], scores[1]


def final(block: Block, start: float, push: int, noise: Array) -> Array:
    """Where runs end that begin at `start` and are pushed one way; `noise` is steps × runs of standard normals."""
    x = np.full(noise.shape[1], start)
    for step, draw in zip(block.steps, noise, strict=True):
        x = step.contraction * x - step.step_size * push * step.clip + step.sigma * draw
    return x


def separation(block: Block, gap: float) -> tuple[float, float]:
    """Distance of the two means after the block, and the variance of each run."""
    variance = 0.0
    for step in block.steps:
        gap = step.contraction * gap + step.drift
        variance = step.contraction**2 * variance + step.sigma**2
    return gap, variance
