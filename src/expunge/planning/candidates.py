"""Ways to keep one promise within one budget of steps on retained data, and what is known of each before anything runs.

What decides is the noise that is left beside the weights that are left. Without gradient steps that is output perturbation,
whatever the blocks and however many the steps: σ = Δ/μ, or ρΔ/μ beside ρ times the weights. Gradient steps among the noise
drift, and drift costs noise; only there does it matter which blocks there are. What makes the noise smaller is another place
for it to enter (a `Start`): a reset block, a clean phase.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..accounting import Accountant, Proximity
from ..accounting.checks import whole
from ..errors import ConfigError
from .plan import Plan, make

STEP_SIZE = 1.0  # γ; only γC₁ and γλ count
KEEPS = (1.0, 0.3, 0.1, 0.03)  # the share of the weights that is left: ρ^T
DRIFTS = (0.03, 0.3)  # what gradient steps may add to the gap, as a share of it
BLOCKS: tuple[tuple[str, int, int], ...] = (("Whole", 1, 4), ("Permutation", 4, 1), ("LayerCycle", 4, 1))


@dataclass(frozen=True)
class Start:
    """Where noise may enter: Δ as it is there, and what is noised.

    layers      name → (coordinates, norm of the weights), of what is noised
    design      the blocks that it asks for; none: any
    steps       on retained data, spent before the noise
    """

    name: str
    proximity: Proximity
    layers: Mapping[str, tuple[int, float]]
    design: Mapping[str, object] | None = None
    steps: int = 0

    @property
    def dimension(self) -> int:
        """Of all that is noised."""
        return sum(size for size, _ in self.layers.values())


@dataclass(frozen=True)
class Candidate:
    """A start and a schedule that keep the promise.

    keep        the share of the weights that is left when the noise has fallen
    sigma       deviation of the noise that is left, on every coordinate
    signal      layer → norm of the weights that are left, over that of the noise
    recovery    steps on retained data that the budget has left for fine-tuning
    """

    start: Start
    design: Mapping[str, object]
    clip: float
    step_size: float
    weight_decay: float
    steps: int
    plan: Plan
    keep: float
    sigma: float
    signal: Mapping[str, float]
    recovery: int

    @property
    def name(self) -> str:
        """What it does, in a few words."""
        blocks = f"{self.design['kind']}({self.design['k']})" if "k" in self.design else str(self.design["kind"])
        how = "noise alone" if self.clip == 0.0 else f"C₁ = {self.clip:.3g}, {self.steps} × {blocks}"
        return f"{self.start.name}, {how}, ρ = {self.keep:g}"

    @property
    def noise_norm(self) -> float:
        """σ√d."""
        return self.sigma * math.sqrt(self.start.dimension)

    @property
    def total_signal(self) -> float:
        """Norm of all the weights that are left, over that of all the noise."""
        kept = self.keep * math.hypot(*(norm for _, norm in self.start.layers.values()))
        return kept / self.noise_norm if self.noise_norm > 0.0 else math.inf


def candidates(
    starts: Sequence[Start], *, epsilon: float, delta: float, budget: int, accountant: Accountant = "gaussian"
) -> list[Candidate]:
    """Every start with every schedule of the catalogue that fits the budget, most signal first."""
    if not starts:
        raise ConfigError("there is no place for the noise to enter; got no start.")
    budget = whole("budget", budget)
    promise: dict[str, object] = {"epsilon": epsilon, "delta": delta, "accountant": accountant}
    found = [one for start in starts for one in _of(start, promise, budget)]
    if not found:
        least = min(start.steps for start in starts) + 2
        raise ConfigError(f"budget must be at least {least} steps on retained data; got {budget}.")
    return sorted(found, key=lambda one: -one.total_signal)


def _of(start: Start, promise: dict[str, object], budget: int) -> Iterator[Candidate]:
    for keep in KEEPS:
        yield from _one(start, promise, budget, keep, 0.0, start.design or {"kind": "Whole"}, 1, 1)
        for drift in DRIFTS if start.design is None else ():
            for kind, blocks, steps in BLOCKS:
                design = {"kind": kind} if kind == "Whole" else {"kind": kind, "k": blocks}
                yield from _one(start, promise, budget, keep, drift, design, blocks, steps)


def _one(
    start: Start,
    promise: dict[str, object],
    budget: int,
    keep: float,
    drift: float,
    design: Mapping[str, object],
    blocks: int,
    steps: int,
) -> Iterator[Candidate]:
    """The candidate, if the budget has room for it and its blocks can be filled."""
    recovery = budget - start.steps - blocks * steps
    if recovery < 1 or blocks > start.dimension:
        return
    rate = keep ** (1.0 / steps)  # ρ of one step
    schedule = {
        "clip": drift * start.proximity.gap / (2.0 * STEP_SIZE * steps),
        "step_size": STEP_SIZE,
        "weight_decay": (1.0 - rate) / STEP_SIZE,
        "steps": steps,
    }
    sizes = [start.dimension // blocks + (i < start.dimension % blocks) for i in range(blocks)]
    plan = make(sizes, proximity=start.proximity, **schedule, **promise)  # pyright: ignore[reportArgumentType]
    sigma = _left(plan, rate)
    signal = {
        name: keep * norm / (sigma * math.sqrt(size)) if sigma * size > 0.0 else math.inf
        for name, (size, norm) in start.layers.items()
    }
    yield Candidate(start, design, **schedule, plan=plan, keep=keep, sigma=sigma, signal=signal, recovery=recovery)  # pyright: ignore[reportArgumentType]


def _left(plan: Plan, rate: float) -> float:
    """Deviation of what is left of a block's noise: each step's decays with the weights."""
    steps = plan.blocks[0].steps
    return math.sqrt(sum((step.sigma * rate ** (len(steps) - 1 - t)) ** 2 for t, step in enumerate(steps)))
