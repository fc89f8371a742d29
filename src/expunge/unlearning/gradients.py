"""One gradient: the user's loss on retained batches, forward and backward."""

import math
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from ..errors import ConfigError, DataError
from .batches import Batches
from .options import Loss, Options


class Gradients:
    """Puts the gradient of the mean loss over `accumulate` batches into the parameters' `.grad`."""

    def __init__(self, model: nn.Module, loss: Loss, batches: Batches, options: Options) -> None:
        self._model, self._loss, self._batches, self._options = model, loss, batches, options

    def forward(self) -> Tensor:
        """The loss of the next batch."""
        batch, dtype = self._batches.next(), self._options.autocast
        with torch.autocast(self._batches.device.type, dtype=dtype) if dtype is not None else nullcontext():
            return self._loss(self._model, batch)

    def backward(self, where: str) -> float:
        """The mean loss, its gradient in place; no gradient where the loss is not finite and that is allowed."""
        self._model.zero_grad(set_to_none=True)
        total = 0.0
        with torch.enable_grad():
            for _ in range(self._options.accumulate):
                value = self.forward()
                if not isinstance(value, Tensor) or value.numel() != 1:
                    got = (
                        f"one of shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"{type(value).__name__}"
                    )
                    raise ConfigError(
                        f"loss(model, batch) must return a scalar tensor; got {got}. Return the mean, as a tensor."
                    )
                value = value / self._options.accumulate
                value.backward()
                total += value.item()
        if not math.isfinite(total):
            self.tolerate("loss", where)
            self._model.zero_grad(set_to_none=True)
        return total

    def norm(self) -> float:
        """Of the gradients as they are; infinite where there are none."""
        found = [parameter.grad.norm() for parameter in self._model.parameters() if parameter.grad is not None]
        return torch.stack(found).norm().item() if found else math.inf

    def tolerate(self, what: str, where: str) -> None:
        """Something is not finite: an error, unless the user allowed it."""
        if self._options.nonfinite == "error":
            raise DataError(
                f"the {what} is not finite ({where}). Look at the batch, lower the step size, or pass nonfinite='zero' to "
                "count such a gradient as zero."
            )
