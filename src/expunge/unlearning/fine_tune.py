"""Ordinary training on retained data: after the noise (post-processing, any recipe) or before it (a clean phase)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from .. import optimizers
from ..accounting.checks import number, whole
from ..errors import ConfigError
from ..lbfgs import Lbfgs, WhitenedLbfgs

MakeOptimizer = Callable[[Sequence[nn.Parameter]], torch.optim.Optimizer]
Schedule = Callable[[int], float]
KINDS = ("sgd", "adam", "adamw", "lbfgs")


@dataclass(frozen=True)
class FineTune:
    """How many steps, with which optimiser, at which rate.

    `optimizer`: "sgd", "adam", "adamw", or a function of the parameters that makes any torch optimiser. "lbfgs" takes an
    iteration a step, and wants lr=1 and a loader that gives all samples in one batch.
    `schedule`: "constant", "cosine" (to zero), or a function of the step that multiplies the learning rate.
    `until`: a clean phase ends as soon as the gradient of the whole loss is no longer than this, and is refused if `steps`
    do not bring it there (docs/requests.md).
    `whiten`: for "lbfgs" on a model that is one linear layer: so many retained samples tell it how long the inputs are in
    each direction, and it needs a fraction of the iterations. 0 is without.
    """

    steps: int
    optimizer: str | MakeOptimizer = "sgd"
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: str | Schedule = "constant"
    until: float | None = None
    whiten: int = 0

    def __post_init__(self) -> None:
        whole("steps", self.steps, least=0)
        number("lr", self.lr, least=0.0)
        number("momentum", self.momentum, least=0.0, below=1.0)
        number("weight_decay", self.weight_decay, least=0.0)
        if self.until is not None:
            number("until", self.until, above=0.0)
        if isinstance(self.optimizer, str) and self.optimizer not in KINDS:
            raise ConfigError(
                f"optimizer must be 'sgd', 'adam', 'adamw', 'lbfgs' or a function; got {self.optimizer!r}."
            )
        whole("whiten", self.whiten, least=0)
        if self.whiten and self.optimizer != "lbfgs":
            raise ConfigError(f"only lbfgs can whiten; the optimizer is {self.optimizer!r}. Leave whiten out.")
        if self.optimizer == "lbfgs" and self.weight_decay:
            raise ConfigError(f"lbfgs knows no weight decay; got {self.weight_decay:g}. Put a penalty into the loss.")
        if isinstance(self.schedule, str) and self.schedule not in ("constant", "cosine"):
            raise ConfigError(f"schedule must be 'constant', 'cosine' or a function; got {self.schedule!r}.")

    def make_optimizer(self, parameters: Sequence[nn.Parameter], batch: Any = None) -> torch.optim.Optimizer:
        """A fresh optimiser for just these parameters: the one of the original training remembers the forget set.

        `batch` is one of retained data, for an optimiser that whitens.
        """
        if not isinstance(self.optimizer, str):
            return _fresh(self.optimizer(parameters), parameters)
        if self.optimizer == "lbfgs":
            return (
                WhitenedLbfgs(parameters, _some(batch, self.whiten), self.lr)
                if self.whiten
                else Lbfgs(parameters, self.lr)
            )
        if self.optimizer == "sgd":
            settings = {"lr": self.lr, "momentum": self.momentum, "weight_decay": self.weight_decay}
            return optimizers.sgd(parameters, dense=False, **settings)
        kind = optimizers.adam if self.optimizer == "adam" else optimizers.adamw
        return kind(parameters, lr=self.lr, weight_decay=self.weight_decay)

    def rate(self, step: int) -> float:
        """What the learning rate is multiplied by at a step."""
        if not isinstance(self.schedule, str):
            return self.schedule(step)
        return 1.0 if self.schedule == "constant" else 0.5 * (1.0 + math.cos(math.pi * step / self.steps))

    @property
    def named(self) -> bool:
        """Whether `describe` tells this recipe from every other: no lambdas, no closures, plain settings."""
        return all(isinstance(part, str) or "<" not in _name(part) for part in (self.optimizer, self.schedule))

    def describe(self) -> dict[str, Any]:
        """As plain JSON values; functions by name, and `until` where there is one."""
        values = {key: value if not callable(value) else _name(value) for key, value in asdict(self).items()}
        unused = {"until": None, "whiten": 0}  # recipes are told as they always were where they do without
        return {key: value for key, value in values.items() if key not in unused or value != unused[key]}


def _some(batch: Any, most: int) -> Tensor:
    """Inputs of at most so many samples of a batch, from all over it."""
    inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
    if not isinstance(inputs, Tensor) or inputs.dim() == 0:
        raise ConfigError(
            f"whiten needs batches whose first part are the inputs; got {type(batch).__name__}. Leave it out."
        )
    return inputs[torch.linspace(0, len(inputs) - 1, min(most, len(inputs)), dtype=torch.float64).long()]


def _fresh(optimizer: torch.optim.Optimizer, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    own = {id(parameter) for parameter in parameters}
    given = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    if optimizer.state or not given <= own:
        raise ConfigError(
            "optimizer must make a new optimiser of the parameters it is given; this one has been used before, or moves "
            "other parameters. An old optimiser remembers the forgotten data."
        )
    return optimizer


def _name(function: Any) -> str:
    """module:name, with the settings of a partial; what cannot be told apart has a "<" in it."""
    if isinstance(function, partial):
        settings = [repr(value) for value in function.args] + [
            f"{k}={v!r}" for k, v in sorted(function.keywords.items())
        ]
        return f"{_name(function.func)}({', '.join(settings)})"
    if isinstance(function, (FunctionType, type)):
        return f"{function.__module__}:{function.__qualname__}"
    return f"<{type(function).__qualname__}>"
