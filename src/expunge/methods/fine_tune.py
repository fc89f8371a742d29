"""FT: train on, with retained data alone, and trust that what is not repeated fades."""

from dataclasses import dataclass
from typing import ClassVar

from .descent import Descent, trainable
from .task import Kind, Task, Unlearned
from .work import Work


@dataclass(frozen=True, kw_only=True)
class FineTuning(Descent):
    """Fine-tuning on D_r (Warnecke et al. 2023), set as SalUn's authors set it (Fan et al. 2024): 10 epochs, lr 0.01."""

    name: ClassVar[str] = "fine_tune"
    kind: ClassVar[Kind] = "empirical"

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        optimizer = self.optimizer(trainable(task.model))
        with Work(self, task) as work:
            for _, batch in self.stream(work, task.retain):
                work.step(optimizer, task.loss(task.model, batch), total=self.total(task.retain))
        return work.done()
