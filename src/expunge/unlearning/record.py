"""What a run did: the ledger, what was measured on the way, and whether the theorem's assumptions held.

The certificate is computed from this alone. Plain values throughout, so that a checkpoint can hold it.
"""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ..accounting import Block, Step
from ..errors import CertificationError, CoverageError
from .step import Measured

DECOMPOSITION, OFF_BLOCK = 1e-5, 1e-4  # float32 rounding is well below both
SURPRISE = 25.0  # a correct generator fails the variance check with probability 2e^−25


@dataclass
class BlockRecord:
    """One block as it was run."""

    dimension: int
    steps: list[Step] = field(default_factory=list[Step])
    clip_hits: int = 0
    zeroed: int = 0  # steps whose gradient was not finite and counted as zero
    largest_excess: float = 0.0  # clipped norm over C₁; at most 1
    noise_energy: float = 0.0  # Σ‖ξ‖²/σ²
    noisy_coordinates: int = 0  # how many normals that is
    off_block: float = 0.0  # how much another block changed meanwhile, relative to the weights

    def note(self, step: Step, measured: Measured) -> None:
        """Add one step as it was taken."""
        self.steps.append(step)
        self.zeroed += not measured.finite
        if step.drift > 0.0:
            self.clip_hits += measured.finite and measured.gradient_norm > measured.clipped_norm
            self.largest_excess = max(self.largest_excess, measured.clipped_norm / step.clip)
        if step.sigma > 0.0:
            self.noise_energy += measured.noise_energy
            self.noisy_coordinates += self.dimension


@dataclass
class Record:
    """One run."""

    subspace: dict[str, Any]
    input_sha256: str
    generator: str
    simulated: bool
    parameters: int
    forget_sha256: str | None = None
    forget_count: int | None = None
    retained_how: str = ""
    decomposition_error: float = 0.0
    fates: dict[str, int] = field(default_factory=dict[str, int])
    epsilon_machine: float = 0.0
    forgotten_seen: int = 0
    public_changed: int = 0
    model_clip: float | None = None  # C₀, where the original method was asked for
    model_norm: float = 0.0  # after clipping to it
    blocks: list[BlockRecord] = field(default_factory=list[BlockRecord])
    clean: dict[str, Any] | None = None
    fine_tune: dict[str, Any] | None = None
    batches: int = 0
    output_sha256: str = ""
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def ledger(self) -> tuple[Block, ...]:
        """What was done, for the accountant."""
        return tuple(Block(tuple(block.steps), block.dimension) for block in self.blocks)

    def dump(self) -> dict[str, Any]:
        """Plain values; runs of one step are not compressed here."""
        return asdict(self)

    def summary(self) -> dict[str, Any]:
        """For the certificate: everything but what stands elsewhere in it (the ledger, the hashes)."""
        hidden = ("blocks", "input_sha256", "output_sha256", "forget_sha256")
        measured = [{k: v for k, v in asdict(block).items() if k != "steps"} for block in self.blocks]
        kept = {name: value for name, value in self.dump().items() if name not in hidden}
        return {**kept, "measured": measured}

    @classmethod
    def restore(cls, values: dict[str, Any]) -> "Record":
        """From what `dump` gave."""
        blocks = [
            BlockRecord(**{**block, "steps": [Step(**step) for step in block["steps"]]}) for block in values["blocks"]
        ]
        return cls(**{**values, "blocks": blocks})


def checks(record: Record) -> list[dict[str, Any]]:
    """Every assumption that a run can measure, each as `measured` ≤ `limit`; raises where one fails."""
    covered = sum(block.dimension for block in record.blocks)
    rows: list[tuple[str, float, float, str]] = [
        ("coverage", abs(covered - record.parameters), 0.0, "coordinates not in exactly one block"),
        ("decomposition", record.decomposition_error, DECOMPOSITION, "a random vector against its projections' sum"),
        ("other blocks", _worst(record, "off_block"), OFF_BLOCK, "change of a block that was not active, relative"),
        ("clip", _worst(record, "largest_excess"), 1.0, "largest clipped gradient norm over C₁ of its block"),
        ("noise variance", max(map(_surprise, record.blocks), default=0.0), 1.0,
         "‖ξ‖²/σ² of every block within its chi-square bounds (1 has probability 1e-11)"),
        ("precision", record.epsilon_machine, 2.0**-23, "unit roundoff of the parameters; float32 or better"),
        ("retained data", record.forgotten_seen, 0.0, record.retained_how),
        ("public state", record.public_changed, 0.0, "tensors declared public that changed"),
    ]  # fmt: skip
    if record.model_clip is not None:
        rows.append(("model clip", record.model_norm, record.model_clip, "norm of the model where the noise begins"))
    for name, measured, limit, how in rows:
        if not measured <= limit:
            kind = CoverageError if name in ("coverage", "decomposition") else CertificationError
            raise kind(f"no certificate, because of {name}: measured {measured:g}, required ≤ {limit:g} ({how}).")
    return [dict(zip(("name", "measured", "limit", "how"), row, strict=True)) for row in rows]


def _worst(record: Record, name: str) -> float:
    return max((getattr(block, name) for block in record.blocks), default=0.0)


def _surprise(block: BlockRecord) -> float:
    """How far ‖ξ‖²/σ² is from its mean n, over the chi-square tail bound of Laurent & Massart (2000)."""
    n = block.noisy_coordinates
    if n == 0:
        return 0.0
    excess = block.noise_energy - n
    bound = 2.0 * math.sqrt(n * SURPRISE)
    return excess / (bound + 2.0 * SURPRISE) if excess > 0.0 else -excess / bound
