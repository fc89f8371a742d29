"""A few steps on retained data from the public initialisation: exact, cheap, and what a certified method must beat.

The model that was trained on everything plays no part, so there is nothing to unlearn. A method that ends below this, at
the same number of steps, has not used the trained model for anything.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from ..unlearning import FineTune
from .descent import trainable
from .settings import Described
from .task import Kind, Task, Unlearned
from .work import Work


@dataclass(frozen=True)
class FromPublic(Described):
    """`recipe.steps` steps on D_r from `Task.fresh`: give it as many as the certified method takes on retained data."""

    name: ClassVar[str] = "from_public"
    kind: ClassVar[Kind] = "exact"

    recipe: FineTune = field(default_factory=lambda: FineTune(steps=300, optimizer="adam", lr=1e-3))

    def __call__(self, task: Task) -> Unlearned:
        """Train."""
        with Work(self, task, task.begin_afresh(self.name)) as work:
            optimizer = self.recipe.make_optimizer(trainable(work.model))
            while work.steps < self.recipe.steps:
                for batch in work.batches(task.retain):
                    for group in optimizer.param_groups:
                        group["lr"] = group.setdefault("initial_lr", group["lr"]) * self.recipe.rate(work.steps)
                    work.step(optimizer, task.loss(work.model, batch), total=self.recipe.steps)
                    if work.steps == self.recipe.steps:
                        break
        return work.done()
