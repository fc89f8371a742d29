"""L-BFGS, an iteration a step, for a loss that is the same at every look: all samples in one batch.

torch looks at the loss anew when a step begins, which is where the line search of the step before ended. Here that is
known, so that an iteration takes one look where the first try is good, and not two.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

LOOKS = 26  # of one line search at most; with one iteration a step torch's own default is 1, which is no search


class Lbfgs(torch.optim.LBFGS):
    """With a strong Wolfe search, whose first try is the whole step times `lr`."""

    def __init__(self, params: Iterable[Tensor], lr: float = 1.0) -> None:
        super().__init__(params, lr=lr, max_iter=1, max_eval=LOOKS, line_search_fn="strong_wolfe")

    def step(self, closure: Callable[[], Any]) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One iteration; the loss where it began."""
        return super().step(lambda: self._look(closure))

    def _look(self, closure: Callable[[], Any]) -> float:
        """The loss at this point, and its gradient in place: from memory, if it is the last one that was looked at."""
        parameters: list[Tensor] = self.param_groups[0]["params"]
        seen = self.state[parameters[0]]  # torch's own state, so that a checkpoint has it too
        if "seen_at" not in seen or not all(map(torch.equal, parameters, seen["seen_at"])):
            loss = closure()
            seen["seen_loss"] = loss.item() if isinstance(loss, Tensor) else float(loss)
            seen["seen_at"] = [parameter.detach().clone() for parameter in parameters]
            seen["seen_slope"] = [_slope(parameter) for parameter in parameters]
        for parameter, slope in zip(parameters, seen["seen_slope"], strict=True):
            parameter.grad = slope.clone()
        return seen["seen_loss"]


def _slope(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
