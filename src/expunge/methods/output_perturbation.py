"""Noise once, then fine-tuning: the plainest certified method, and the one that the others must beat."""

from dataclasses import dataclass
from typing import ClassVar

from ..accounting.checks import number
from ..subspaces import Whole
from .certified import Calibrated
from .task import Task, Unlearned


@dataclass(frozen=True, kw_only=True)
class OutputPerturbation(Calibrated):
    """σ = Δ/μ on every parameter (Dwork et al. 2006, for a gap that is calibrated), without any gradient before it.

    `keep` multiplies weights and noise alike, which changes nothing in (ε, δ). It brings noise that is larger than an
    initialisation back to that size, where fine-tuning works; 1 is the plain method.
    """

    name: ClassVar[str] = "output_perturbation"

    keep: float = 1.0

    def __post_init__(self) -> None:
        number("keep", self.keep, above=0.0, most=1.0)

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        decay = 1.0 - self.keep  # ρ = 1 − γλ with γ = 1
        return self.certify(
            task, Whole(), proximity=self.proximity, clip=0.0, step_size=1.0, weight_decay=decay, steps=1
        )
