"""A model that nobody will release, and a request to it: where candidates are tried, so that the real request is not.

It is trained with another seed, and a tenth of what its request retains is trained on by nobody: these samples judge. The
retrained model is its twin by the coupling of calibration.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .. import methods
from ..calibration import Stream
from ..calibration.coupling import chance
from ..errors import CertificationError, DataError
from .materials import Materials

HELD_OUT = 10  # one of so many retained samples judges


@dataclass(frozen=True)
class Practice:
    """One practice. `base` and `again` are the trained and the retrained model's trainable weights."""

    materials: Materials
    seed: int
    forget: Tensor
    kept: Tensor
    judges: Tensor
    state: Mapping[str, Tensor]
    base: dict[str, Tensor]
    again: dict[str, Tensor]
    retrain_steps: int
    retrained: float

    def model(self) -> nn.Module:
        """The trained model, a copy."""
        model = self.materials.fresh()
        model.load_state_dict(self.state)
        return model

    def task(self) -> methods.Task:
        """The request, as a method sees it."""
        return methods.Task(
            self.model(),
            self.materials.batches(self.kept.tolist()),
            self.materials.loss,
            fresh=self.materials.fresh,
            forget_indices=self.forget.tolist(),
            seed=self.seed,
        )

    def score(self, method: methods.Method) -> float:
        """Accuracy of the judges after the method; a run that diverged or was refused is worth nothing."""
        try:
            return self.materials.judged(method(self.task()).model, self.judges.tolist())
        except (DataError, CertificationError):
            return 0.0

    def shapes(self) -> dict[str, torch.Size]:
        """Of the trainable tensors."""
        return {name: tensor.shape for name, tensor in self.base.items()}

    def sizes(self) -> dict[str, tuple[int, float]]:
        """Trainable tensor → coordinates, and norm."""
        return {name: (x.numel(), torch.linalg.vector_norm(x.double()).item()) for name, x in self.base.items()}

    def describe(self) -> dict[str, Any]:
        """How it was drawn."""
        return {"seed": self.seed, "removed": len(self.forget), "kept": len(self.kept), "judges": len(self.judges)}


def practise(materials: Materials, number: int) -> Practice:
    """One practice: seed, request and judges of its own."""
    seed = chance(materials.project.project.seed, number, "practice")
    random = torch.Generator().manual_seed(seed)
    forget = materials.deletion.forget(materials.dataset, seed)
    stays = torch.ones(len(materials.dataset), dtype=torch.bool)
    stays[forget] = False
    rest = stays.nonzero().view(-1)
    order = rest[torch.randperm(len(rest), generator=random)]
    cut = max(1, len(order) // HELD_OUT)
    judges, kept = order[:cut], order[cut:].sort().values
    both = torch.cat([forget, kept]).sort().values
    twin = both.clone()
    removed = torch.isin(both, forget)
    twin[removed] = kept[torch.randint(len(kept), (int(removed.sum()),), generator=random)]
    trained = materials.trained(Stream(materials.dataset, both), seed)
    again, steps = materials.counted(Stream(materials.dataset, twin), seed)
    return Practice(
        materials,
        seed,
        forget,
        kept,
        judges,
        {name: tensor.detach().clone() for name, tensor in trained.state_dict().items()},
        _trainable(trained),
        _trainable(again),
        steps,
        materials.judged(again, judges.tolist()),
    )


def _trainable(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach().cpu().clone() for name, p in model.named_parameters() if p.requires_grad}
