"""Noisy fine-tuning with a calibrated proximity: one block that holds every parameter."""

from dataclasses import dataclass
from typing import ClassVar

from ..subspaces import Whole
from .certified import Calibrated
from .task import Task, Unlearned


@dataclass(frozen=True, kw_only=True)
class Nft(Calibrated):
    """NFT (Koloskova et al. 2025) as the paper runs it: Δ is measured, where the original clips the model."""

    name: ClassVar[str] = "nft"

    clip: float
    step_size: float
    weight_decay: float = 0.0
    steps: int = 1

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        return self.certify(
            task,
            Whole(),
            proximity=self.proximity,
            clip=self.clip,
            step_size=self.step_size,
            weight_decay=self.weight_decay,
            steps=self.steps,
        )
