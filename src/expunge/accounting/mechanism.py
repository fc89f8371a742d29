"""What a run does, apart from what it costs: frozen descriptions of its steps and blocks.

One step on a block moves  B ← B − γ(clip_C₁(g) + λB) + N(0, σ²):

    step_size γ      weight_decay λ      clip C₁      sigma σ per coordinate (0: a step without noise)

Two runs at distance z are at most ρz + s apart after it:  contraction ρ = 1 − γλ,  drift s = 2γC₁.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

from ..errors import ConfigError
from .checks import LARGEST, SMALLEST, number, whole

MOST_STEPS = 10_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """One clipped, decaying, noisy step."""

    step_size: float
    weight_decay: float
    clip: float
    sigma: float

    def __post_init__(self) -> None:
        for name in ("step_size", "weight_decay", "clip", "sigma"):
            value = getattr(self, name)
            if type(value) is not float or not 0.0 <= value <= LARGEST:
                object.__setattr__(self, name, number(name, value, least=0.0))
        if 0.0 < self.sigma < SMALLEST:
            raise ConfigError(f"sigma must be 0 (no noise) or at least {SMALLEST:g}; got {self.sigma!r}.")
        contraction(self.step_size, self.weight_decay)

    @property
    def contraction(self) -> float:
        """ρ = 1 − γλ."""
        return contraction(self.step_size, self.weight_decay)

    @property
    def drift(self) -> float:
        """How far one step can push two runs apart, s = 2γC₁."""
        return 2.0 * self.step_size * self.clip


@dataclass(frozen=True, slots=True)
class Block:
    """One orthogonal block: its steps, in order, and (for people) how many coordinates it has."""

    steps: tuple[Step, ...]
    dimension: int | None = None

    def __post_init__(self) -> None:
        steps = (self.steps,) if isinstance(self.steps, Step) else tuple(self.steps)
        if not 1 <= len(steps) <= MOST_STEPS:
            raise ConfigError(f"a block must have 1 to {MOST_STEPS:,} steps; got {len(steps):,}.")
        for step in steps:
            if type(step) is not Step:
                raise ConfigError(f"a block is made of Steps; got {step!r:.60}.")
        object.__setattr__(self, "steps", steps)
        if self.dimension is not None:
            object.__setattr__(self, "dimension", whole("dimension", self.dimension, least=0))

    @property
    def constant(self) -> bool:
        """Whether every step is the same, so that closed forms apply."""
        first = self.steps[0]
        return all(step is first or step == first for step in self.steps)

    def with_noise(self, factor: float) -> "Block":
        """The same schedule with every σ multiplied by `factor`."""
        scaled = {s: Step(s.step_size, s.weight_decay, s.clip, s.sigma * factor) for s in set(self.steps)}
        return Block(tuple(scaled[s] for s in self.steps), self.dimension)


def contraction(step_size: float, weight_decay: float) -> float:
    """ρ = 1 − γλ, to the last digit. γλ must stay below 1: at 1 a step forgets everything, beyond it nothing contracts."""
    rate = step_size * weight_decay
    if rate <= 0.5:
        return 1.0 - rate
    if rate >= 1.0:
        raise ConfigError(
            f"step_size × weight_decay must be below 1; got {step_size:g} × {weight_decay:g} = {rate:g}. "
            "Lower one of them."
        )
    return float(1 - Fraction(step_size) * Fraction(weight_decay))  # exact: near 1 the rounded product is not


@overload
def as_blocks(blocks: Block) -> tuple[Block, ...]: ...
@overload
def as_blocks(blocks: Iterable[Block]) -> tuple[Block, ...]: ...
def as_blocks(blocks: Block | Iterable[Block]) -> tuple[Block, ...]:
    """A non-empty tuple of Blocks, from one or many."""
    if isinstance(blocks, Block):
        return (blocks,)
    if not isinstance(blocks, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"blocks must be a Block or several; got {blocks!r:.60}.")
    result = tuple(blocks)
    if not result:
        raise ConfigError("a run has at least one block; got none.")
    for block in result:
        if type(block) is not Block:
            raise ConfigError(f"blocks must be Blocks; got {block!r:.60}.")
    return result
