"""The training loss. It holds two numbers and no data, as the engine asks of a loss that it certifies."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .heads import penalty


@dataclass(frozen=True)
class TrainingLoss:
    """Cross-entropy of a batch (inputs, labels, …), and the L2 penalty if there is one; `autocast` computes in bfloat16."""

    l2: float = 0.0
    autocast: bool = False

    def __call__(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        """A scalar."""
        with torch.autocast(batch[1].device.type, torch.bfloat16, enabled=self.autocast):
            return cross_entropy(model(batch[0]), batch[1]) + penalty(model, self.l2)
