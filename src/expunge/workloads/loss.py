"""The training loss. It holds one number and no data, as the engine asks of a loss that it certifies."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .heads import penalty


@dataclass(frozen=True)
class TrainingLoss:
    """Cross-entropy of a batch (inputs, labels, …), and the L2 penalty if there is one."""

    l2: float = 0.0

    def __call__(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        """A scalar."""
        return cross_entropy(model(batch[0]), batch[1]) + penalty(model, self.l2)
