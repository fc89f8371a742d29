"""Noise once, then fine-tuning: the plainest certified method, and the one that the others must beat."""

from dataclasses import dataclass
from typing import ClassVar

from ..subspaces import Whole
from .certified import Calibrated
from .task import Task, Unlearned


@dataclass(frozen=True, kw_only=True)
class OutputPerturbation(Calibrated):
    """σ = Δ/μ on every parameter (Dwork et al. 2006, for a gap that is calibrated), without any gradient before it."""

    name: ClassVar[str] = "output_perturbation"

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        return self.certify(task, Whole(), proximity=self.proximity, clip=0.0, step_size=0.0, steps=1)
