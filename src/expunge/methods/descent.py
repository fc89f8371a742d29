"""How long a method trains, and with which optimiser: what fine-tuning, SalUn, the ℓ1 penalty and AMUN have in common."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..accounting.checks import number, whole
from ..errors import ConfigError
from .settings import Described
from .work import Work


@dataclass(frozen=True, kw_only=True)
class Descent(Described):
    """Stochastic gradient descent for some epochs; `steps` instead counts steps, whatever the epochs say.

    The defaults are those of the SalUn paper's baselines (Fan et al. 2024, Appendix; its published code): 10 epochs of SGD
    with momentum 0.9 and weight decay 5e-4.
    """

    epochs: int = 10
    steps: int | None = None
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 5e-4

    def __post_init__(self) -> None:
        whole("epochs", self.epochs)
        if self.steps is not None:
            whole("steps", self.steps)
        number("lr", self.lr, above=0.0)
        number("momentum", self.momentum, least=0.0, below=1.0)
        number("weight_decay", self.weight_decay, least=0.0)

    def optimizer(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """A fresh one: that of the original training remembers the forgotten data."""
        return torch.optim.SGD(parameters, lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay)

    def stream(self, work: Work, source: Iterable[Any]) -> Iterator[tuple[float, Any]]:
        """Batches for as long as this lasts, each with the share of it that is over when its epoch (or step) begins."""
        began, epoch = work.steps, 0
        while True:
            for batch in work.batches(source):
                done = work.steps - began
                yield (epoch / self.epochs if self.steps is None else done / self.steps), batch
                if self.steps is not None and done + 1 >= self.steps:
                    return
            epoch += 1
            if self.steps is None and epoch == self.epochs:
                return

    def total(self, source: Any) -> int:
        """How many steps that will be, where it can be told beforehand; otherwise 0."""
        return self.steps if self.steps is not None else self.epochs * len(source) if hasattr(source, "__len__") else 0


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """What there is to train."""
    found = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not found:
        raise ConfigError("the model has no trainable parameter. Unfreeze some: requires_grad_(True).")
    return found
