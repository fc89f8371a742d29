"""ℓ1-sparse: fine-tune on retained data while an ℓ1 penalty thins the weights out; it fades as the run goes on."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from ..accounting.checks import number
from .descent import Descent, trainable
from .task import Kind, Task, Unlearned
from .work import Work


@dataclass(frozen=True, kw_only=True)
class L1Sparse(Descent):
    """ℓ1-sparse unlearning (Jia et al. 2023): loss + gamma·(1 − t)·‖θ‖₁, t the share of the epochs that is over."""

    name: ClassVar[str] = "l1_sparse"
    kind: ClassVar[Kind] = "empirical"

    gamma: float = 5e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        number("gamma", self.gamma, least=0.0)

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        parameters = trainable(task.model)
        optimizer = self.optimizer(parameters)
        with Work(self, task) as work:
            for done, batch in self.stream(work, task.retain):
                norm = torch.stack([parameter.abs().sum() for parameter in parameters]).sum()
                loss = task.loss(task.model, batch) + self.gamma * (1.0 - done) * norm
                work.step(optimizer, loss, total=self.total(task.retain))
        return work.done()
