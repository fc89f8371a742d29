"""A linear head on features of a public backbone: the model whose requests need no calibration and never add up.

Its loss CE + λ/2 ‖θ‖² is λ-strongly convex. Every clean phase ends at a gradient norm of at most g, hence within g/λ of the
one minimiser that the retained samples have, wherever it began. So Δ = 2g/λ, with certainty (docs/requests.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..accounting import Proximity
from ..api import Outcome, entry_of
from ..calibration import near_minimizer
from ..errors import ConfigError, DataError
from ..unlearning import FineTune, train_clean
from ..workloads import TrainingLoss, linear_head
from ..workloads.ready import others
from .ledger import Ledger


@dataclass(frozen=True, eq=False)
class Head:
    """Features and labels of all samples that ever were in training, and how exactly the head is solved.

    l2          λ: more of it makes Δ and the noise smaller, and the head plainer
    gradient    g: where training and clean phases end
    length      every sample's features are scaled to this norm, which depends on that sample alone; none: as they are
    iterations  of L-BFGS at most; what does not arrive in so many is refused
    whiten      so many retained samples tell L-BFGS how long features are in each direction; 0 is without
    """

    features: Tensor
    labels: Tensor
    classes: int
    l2: float
    gradient: float
    length: float | None = None
    iterations: int = 1000
    whiten: int = 2000

    def __post_init__(self) -> None:
        if self.features.dim() != 2 or self.labels.shape != self.features.shape[:1]:
            raise DataError(
                f"features must be N × F, with a label for each; got {tuple(self.features.shape)} and "
                f"{tuple(self.labels.shape)}."
            )
        if self.l2 <= 0.0:
            raise ConfigError(f"l2 must be above 0, or the loss is not strongly convex; got {self.l2!r}.")
        features = self.features.double()
        if self.length is not None:
            features = functional.normalize(features, dim=1) * self.length
        object.__setattr__(self, "features", features)

    @property
    def loss(self) -> TrainingLoss:
        """Cross-entropy and the penalty."""
        return TrainingLoss(self.l2)

    @property
    def clean(self) -> FineTune:
        """How it is solved, in training and in every request."""
        return FineTune(self.iterations, "lbfgs", lr=1.0, until=self.gradient, whiten=self.whiten)

    @property
    def proximity(self) -> Proximity:
        """2g/λ, for every request."""
        entry = entry_of(self.clean) or ""
        return near_minimizer(gradient_norm=self.gradient, strong_convexity=self.l2, entry=entry)

    def model(self) -> nn.Module:
        """All zeros, in double precision."""
        return linear_head(self.features.shape[1], self.classes).double()

    def train(self, forgotten: Sequence[int] = ()) -> nn.Module:
        """On everything, or without what was forgotten: from zero to the same gradient norm."""
        model = self.model()
        train_clean(model, self.retained(forgotten), self.loss, self.clean, seed=0)
        return model

    def carry_out(
        self, ledger: Ledger, model: nn.Module, new: Sequence[int], *, mend: int = 10, **options: Any
    ) -> Outcome:
        """One more request on the ledger's model: clean phase, noise, and so many L-BFGS iterations to mend it."""
        return ledger.carry_out(
            model,
            self.retained([*ledger.forgotten, *new]),
            self.loss,
            forget=new,
            proximity=self.proximity,
            clean=self.clean,
            fine_tune=FineTune(mend, "lbfgs", lr=1.0, whiten=self.whiten) if mend else None,
            indices=_indices,
            **options,
        )

    def retained(self, forgotten: Sequence[int] = ()) -> "OneBatch":
        """What a run may see."""
        if wrong := [index for index in forgotten if not 0 <= index < len(self.labels)]:
            raise DataError(f"there is no sample {wrong[0]}: indices go from 0 to {len(self.labels) - 1}.")
        kept = others(torch.tensor(sorted(forgotten), dtype=torch.int64), len(self.labels))
        return OneBatch(self.features[kept], self.labels[kept], kept)


class OneBatch:
    """All retained samples at once, with their indices, again and again."""

    def __init__(self, features: Tensor, labels: Tensor, kept: Tensor) -> None:
        self._batch = (features, labels, kept)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        yield self._batch


def _indices(batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Which samples a batch holds, for the engine's guard."""
    return batch[2]
