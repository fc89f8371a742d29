"""GA: undo the training on D_f, by climbing its loss. Retained data are not looked at, and pay for it."""

from dataclasses import dataclass
from typing import ClassVar

from .descent import Descent, trainable
from .task import Kind, Task, Unlearned
from .work import Work


@dataclass(frozen=True, kw_only=True)
class GradientAscent(Descent):
    """Gradient ascent on D_f (Thudi et al. 2022; Graves et al. 2021), set as in SalUn's code: 5 epochs, lr 1e-4."""

    name: ClassVar[str] = "gradient_ascent"
    kind: ClassVar[Kind] = "empirical"

    epochs: int = 5
    lr: float = 1e-4

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        forget, optimizer = task.forgotten(self.name), self.optimizer(trainable(task.model))
        with Work(self, task) as work:
            for _, batch in self.stream(work, forget):
                work.step(optimizer, -task.loss(task.model, batch), total=self.total(forget))
        return work.done()
