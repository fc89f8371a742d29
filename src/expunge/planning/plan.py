"""A plan binds schedule, noise and proximity together, so that they cannot drift apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..accounting import Accountant, Block, Step, best_steps, mu, sigma
from ..accounting.checks import whole
from ..accounting.recertify import conversion
from ..errors import ConfigError


@dataclass(frozen=True, slots=True)
class Plan:
    """Blocks to visit one after another, and the promise they keep."""

    blocks: tuple[Block, ...]
    gap: float
    epsilon: float
    delta: float
    accountant: Accountant

    @property
    def mu(self) -> float:
        """The cost of the blocks at the gap, recomputed."""
        return mu(self.gap, self.blocks)


def equal_blocks(
    dimensions: Sequence[int],
    *,
    epsilon: float,
    delta: float,
    gap: float,
    clip: float,
    step_size: float,
    weight_decay: float,
    steps: int | Literal["best"] = 1,
    accountant: Accountant = "gaussian",
) -> Plan:
    """The same schedule on every block, clipped at C₁/√k, with the least σ that keeps (ε, δ) at this gap.

    `clip` is C₁ of the whole parameter vector. The certificate is that of one block, whatever the blocks are.
    """
    if not dimensions:
        raise ConfigError("a plan needs at least one block; got none.")
    schedule = {"step_size": step_size, "weight_decay": weight_decay, "clip": clip}
    count = best_steps(gap, **schedule) if steps == "best" else whole("steps", steps)
    noise = sigma(conversion(accountant).mu(epsilon, delta), gap, **schedule, steps=count)
    step = Step(step_size, weight_decay, clip / math.sqrt(len(dimensions)), noise)
    return Plan(
        blocks=tuple(Block((step,) * count, dimension) for dimension in dimensions),
        gap=gap,
        epsilon=epsilon,
        delta=delta,
        accountant=accountant,
    )


def noise_norm(block: Block) -> float:
    """The root mean square norm of the noise that a block holds when its steps are over: √(r Σ_t (σ_t Π ρ)²)."""
    variance, scale = 0.0, 1.0
    for step in reversed(block.steps):
        variance += (step.sigma * scale) ** 2
        scale *= step.contraction
    return math.sqrt(variance * (block.dimension or 0))
