"""[clean]: training on retained data before the noise. The gap that counts is then the one after it."""

from dataclasses import dataclass
from typing import Any, Literal

from ..accounting.checks import number, whole

Optimizer = Literal["sgd", "adam", "adamw", "lbfgs"]


@dataclass(frozen=True)
class Clean:
    """[clean]. `steps` on retained data, in calibration as in the run; 0: none. "lbfgs" counts iterations.

    `lr` is 0.01 where nothing is said; 1 for "lbfgs", whose line search finds its own steps. `whiten`: how many retained
    samples tell "lbfgs", on a linear head, how long its inputs are in each direction.
    """

    steps: int = 0
    optimizer: Optimizer = "sgd"
    lr: float | None = None
    whiten: int = 0

    def __post_init__(self) -> None:
        whole("steps", self.steps, least=0)
        whole("whiten", self.whiten, least=0)
        if self.lr is not None:
            number("lr", self.lr, least=0.0)

    def recipe(self) -> Any:
        """As calibration and the engine take it, described alike by both so that a proximity fits the run; none for 0."""
        if not self.steps:
            return None
        from ..unlearning import FineTune

        usual = 1.0 if self.optimizer == "lbfgs" else 0.01
        return FineTune(self.steps, self.optimizer, usual if self.lr is None else self.lr, whiten=self.whiten)
