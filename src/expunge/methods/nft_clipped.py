"""Noisy fine-tuning as it was first published: the model is clipped to C₀, and no proximity needs to be measured."""

from dataclasses import dataclass
from typing import ClassVar

from ..subspaces import Whole
from .certified import Certified
from .task import Task, Unlearned


@dataclass(frozen=True, kw_only=True)
class ClippedNft(Certified):
    """NFT (Koloskova et al. 2025): Δ = 2·model_clip whatever the training did. It always holds, and costs most."""

    name: ClassVar[str] = "nft_clipped"

    model_clip: float
    clip: float
    step_size: float
    weight_decay: float = 0.0
    steps: int = 1

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        return self.certify(
            task,
            Whole(),
            model_clip=self.model_clip,
            clip=self.clip,
            step_size=self.step_size,
            weight_decay=self.weight_decay,
            steps=self.steps,
        )
