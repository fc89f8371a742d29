"""A plan binds schedule, noise and proximity together, so that they cannot drift apart."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..accounting import Accountant, Block, Proximity, Step, allocate, best_steps, cost, scale_noise, sigma
from ..accounting.checks import number, whole
from ..accounting.ledger import block_record, parse, read_blocks, read_proximity, read_record
from ..accounting.mechanism import MOST_STEPS
from ..accounting.proximity import given
from ..accounting.recertify import conversion
from ..errors import ConfigError, DataError, ProximityError

SCHEMA = "expunge.plan/1"


@dataclass(frozen=True)
class Plan:
    """Blocks to visit one after another, the promise they keep, and the design they belong to."""

    blocks: tuple[Block, ...]
    proximity: Proximity
    epsilon: float
    delta: float
    accountant: Accountant = "gaussian"
    design: dict[str, Any] = field(default_factory=dict[str, Any])
    model_clip: float | None = None

    def __post_init__(self) -> None:
        conversion(self.accountant)
        if not isinstance(self.design, dict):  # pyright: ignore[reportUnnecessaryIsInstance] (it may come from a file)
            raise ConfigError(f"the plan's design must be a description; got {self.design!r:.60}.")
        if self.model_clip is not None:
            number("model_clip", self.model_clip, above=0.0)
        if self.proximity.design is not None and self.design and not _same(self.proximity.design, self.design):
            raise ProximityError(
                f"the proximity was calibrated for another design, {self.proximity.design:.300}. Calibrate with "
                f"design= the one of this plan: {json.dumps(self.design):.300}"
            )

    @property
    def gap(self) -> float:
        """Δ."""
        return self.proximity.gap

    @property
    def mu(self) -> float:
        """The cost of the blocks at the gap, recomputed."""
        return cost(self.proximity, self.blocks)

    def to_json(self) -> str:
        """The plan as text; `from_json` gives it back."""
        values = {name: getattr(self, name) for name in ("epsilon", "delta", "accountant", "design", "model_clip")}
        blocks = [block_record(block) for block in self.blocks]
        return json.dumps(
            {"schema": SCHEMA, **values, "proximity": asdict(self.proximity), "blocks": blocks}, sort_keys=True
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> "Plan":
        """A plan from its text, or a DataError that says where it is wrong."""
        fields = ("schema", "epsilon", "delta", "accountant", "design", "model_clip", "proximity", "blocks")
        values = read_record(parse(text), "the plan", required=fields)
        if values.pop("schema") != SCHEMA:
            raise DataError(f"the plan's schema must be {SCHEMA!r}. Make it with this version of Expunge.")
        proximity, blocks = read_proximity(values.pop("proximity")), read_blocks(values.pop("blocks"))
        return cls(blocks=blocks, proximity=proximity, **values)

    @property
    def sha256(self) -> str:
        """The plan's fingerprint, for the certificate."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def make(
    dimensions: Sequence[int],
    *,
    epsilon: float,
    delta: float,
    proximity: Proximity | float,
    clip: float | Sequence[float],
    step_size: float | Sequence[float],
    weight_decay: float | Sequence[float] = 0.0,
    steps: int | Literal["best"] = 1,
    noise_every: int = 1,
    noise_shape: Sequence[float] | None = None,
    accountant: Accountant = "gaussian",
    design: dict[str, Any] | None = None,
    model_clip: float | None = None,
    weights: Sequence[float] | None = None,
) -> Plan:
    """The same schedule on every block, with the least noise that keeps (ε, δ) at this proximity.

    `clip` is C₁ of the whole parameter vector: each of k blocks clips at C₁/√k, and the certificate is that of one block,
    whatever the blocks are. A sequence gives every block its own clip. `step_size` and `weight_decay` may be sequences
    over the steps. Noise falls on every `noise_every`-th step, in the proportions of `noise_shape` (default: equal).
    Where the proximity knows every block's gap, noise is shared out among the blocks; `weights` say how much a unit of it
    hurts in each (default: equally).
    """
    if not dimensions:
        raise ConfigError("a plan needs at least one block; got none.")
    if not isinstance(proximity, Proximity):
        proximity = given(proximity)
    count = _count(steps, proximity.gap, clip, step_size, weight_decay)
    if count * len(dimensions) > MOST_STEPS:
        raise ConfigError(f"blocks × steps must be at most {MOST_STEPS:,}; got {len(dimensions):,} × {count:,}.")
    budget = conversion(accountant).mu(epsilon, delta)
    rates, decays = _over("step_size", step_size, count), _over("weight_decay", weight_decay, count)
    shape = _noise_shape(count, noise_every, noise_shape)
    if isinstance(clip, (int, float)):
        clips = [clip / math.sqrt(len(dimensions))] * len(dimensions)
    else:
        clips = _over("clip", clip, len(dimensions))
    rows = {c: tuple(map(Step, rates, decays, [c] * count, shape)) for c in set(clips)}
    blocks = tuple(Block(rows[c], dimension) for c, dimension in zip(clips, dimensions, strict=True))
    if weights is not None and proximity.gaps is None:
        raise ConfigError(
            "weights share out noise where the gap of every block is known. Calibrate by block, or leave them."
        )
    if proximity.gaps is not None:
        blocks = allocate(budget, blocks, gaps=proximity.gaps, dimensions=list(dimensions), weights=weights)
    elif isinstance(clip, (int, float)) and blocks[0].constant:  # the closed form, exact to the last digit
        step = blocks[0].steps[0]
        noise = sigma(
            budget, proximity.gap, step_size=step.step_size, weight_decay=step.weight_decay, clip=clip, steps=count
        )
        blocks = tuple(block.with_noise(noise / step.sigma) for block in blocks)
    else:
        blocks = scale_noise(budget, proximity.gap, blocks)
    return Plan(blocks, proximity, epsilon, delta, accountant, design or {}, model_clip)


def _same(measured: str, design: dict[str, Any]) -> bool:
    """Whether the design that a proximity was measured in is this one."""
    return measured == json.dumps(design, sort_keys=True)


def noise_norm(block: Block) -> float:
    """The root mean square norm of the noise that a block holds when its steps are over: √(r Σ_t (σ_t Π ρ)²)."""
    variance, scale = 0.0, 1.0
    for step in reversed(block.steps):
        variance += (step.sigma * scale) ** 2
        scale *= step.contraction
    return math.sqrt(variance * (block.dimension or 0))


Numbers = float | Sequence[float]


def _count(steps: int | Literal["best"], gap: float, clip: Numbers, step_size: Numbers, weight_decay: Numbers) -> int:
    if steps != "best":
        return whole("steps", steps, most=MOST_STEPS)
    if not all(isinstance(value, (int, float)) for value in (clip, step_size, weight_decay)):
        raise ConfigError("steps='best' needs one clip, step_size and weight_decay for all steps. Give steps.")
    return best_steps(gap, step_size=step_size, weight_decay=weight_decay, clip=clip)  # pyright: ignore[reportArgumentType]


def _over(name: str, value: Numbers, count: int) -> list[float]:
    """One value for each of `count` places."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [number(name, value, least=0.0)] * count
    if len(value) != count:
        raise ConfigError(f"{name} must be a number or have {count} values; got {len(value)}.")
    return [number(f"{name}[{i}]", item, least=0.0) for i, item in enumerate(value)]


def _noise_shape(count: int, every: int, shape: Sequence[float] | None) -> list[float]:
    every = whole("noise_every", every, most=count)
    if count % every:
        raise ConfigError(f"steps ({count}) must be a multiple of noise_every ({every}), so that noise comes last.")
    proportions = _over("noise_shape", shape if shape is not None else 1.0, count // every)
    if min(proportions) <= 0.0:
        raise ConfigError(
            f"noise_shape must be above 0 everywhere; got {min(proportions):g}. Use noise_every for gaps."
        )
    return [proportions[t // every] if (t + 1) % every == 0 else 0.0 for t in range(count)]
