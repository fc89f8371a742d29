"""One gradient: the user's loss on retained batches, forward and backward."""

import math
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager, nullcontext

import torch
from torch import Tensor, nn

from ..errors import ConfigError, DataError
from .batches import Batches
from .group import Group
from .options import Loss, Options


class Gradients:
    """Puts the gradient of the mean loss over `accumulate` batches into the parameters' `.grad`."""

    def __init__(self, model: nn.Module, loss: Loss, batches: Batches, options: Options, group: Group) -> None:
        self._model, self._loss, self._batches, self._options, self._group = model, loss, batches, options, group

    def forward(self) -> Tensor:
        """The loss of the next batch, for the statistics that it leaves (DDP would replace them by the first process's)."""
        value = self._forward(self._group.module)
        self._group.reshard()
        return value

    def _forward(self, model: nn.Module) -> Tensor:
        batch, dtype = self._batches.next(), self._options.autocast
        with torch.autocast(self._batches.device.type, dtype=dtype) if dtype is not None else nullcontext():
            return self._loss(model, batch)

    def backward(self, where: str, idle: Sequence[Tensor] = ()) -> float:
        """The mean loss over batches and processes, its gradient in place (DDP and FSDP average it as they go).

        There is no gradient where the loss is not finite and that is allowed, nor is one kept for `idle` parameters.
        """
        self._model.zero_grad(set_to_none=True)
        total = 0.0
        alone = self._model is self._group.module and not self._group.sharded  # DDP and FSDP hold what they reduce
        with torch.enable_grad(), _let_go(idle if alone else ()):
            for _ in range(self._options.accumulate):
                value = self._forward(self._model)
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
        self._group.reshard()
        total = self._group.mean(total)
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


@contextmanager
def _let_go(parameters: Sequence[Tensor]):
    """The gradients of these are gone as soon as autograd has them, one by one."""
    with ExitStack() as hooks:
        for parameter in parameters:
            hooks.enter_context(parameter.register_post_accumulate_grad_hook(_drop))
        yield


def _drop(parameter: Tensor) -> None:
    parameter.grad = None
