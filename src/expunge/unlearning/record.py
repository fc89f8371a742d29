"""What a run did: the ledger, and what was measured on the way.

The certificate is computed from this alone. Plain values throughout, so that a checkpoint can hold it.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from ..accounting import Block, Step
from .step import Measured


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
    rounding: float = 0.0  # spacing of the floats at the largest weight, over the smallest σ
    off_block: float = 0.0  # how much another block changed meanwhile, relative to the weights

    def note_precision(self, spacing: float, block: Block) -> None:
        """Noise that is finer than the weights' own floating-point numbers would be rounded away."""
        sigmas = [step.sigma for step in block.steps if step.sigma > 0.0]
        self.rounding = max(self.rounding, spacing / min(sigmas)) if sigmas else self.rounding

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
    public: list[str] = field(default_factory=list[str])  # names of what was declared public
    epsilon_machine: float = 0.0
    forgotten_seen: int = 0
    public_changed: int = 0
    tampered: int = 0
    model_clip: float | None = None  # C₀, where the original method was asked for
    model_norm: float = 0.0  # after clipping to it
    blocks: list[BlockRecord] = field(default_factory=list[BlockRecord])
    reset: dict[str, Any] | None = None  # of a keep-space: what was reset, and how well
    clean: dict[str, Any] | None = None
    entry_gradient: float | None = None  # where the clean phase ended, if that decides when it ends
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
