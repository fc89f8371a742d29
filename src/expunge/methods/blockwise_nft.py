"""Block-wise noisy fine-tuning, the paper's method: gradient, decay and noise in one orthogonal block after another."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ..subspaces import Design, Permutation
from .certified import Calibrated
from .task import Task, Unlearned


@dataclass(frozen=True, kw_only=True)
class BlockwiseNft(Calibrated):
    """Algorithm 1 of the paper, with noise for the integer T that is run (docs/paper.md).

    clip is C₁ of the whole parameter vector (or one for each block), step_size γ, weight_decay λ, steps T per block. The
    paper's values for MNIST, random 10 %, are clip=5000, step_size=1e-4, weight_decay=100, steps=2; small clips keep more
    accuracy (docs/methods.md).
    """

    name: ClassVar[str] = "blockwise_nft"

    clip: float | Sequence[float]
    step_size: float
    weight_decay: float = 0.0
    steps: int = 1
    design: Design = field(default_factory=lambda: Permutation(4))

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        return self.certify(
            task,
            self.design,
            proximity=self.proximity,
            clip=self.clip,
            step_size=self.step_size,
            weight_decay=self.weight_decay,
            steps=self.steps,
        )
