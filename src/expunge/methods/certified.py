"""The one way to a certificate: `expunge.plan`, then `expunge.unlearn`, whatever the method's schedule is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from .. import api
from ..accounting import Accountant, Proximity
from ..calibration import Calibration
from ..subspaces import Design, KeepSpace
from ..unlearning import FineTune, Loss
from .settings import Described
from .task import Kind, Task, Unlearned
from .work import Work, batch_size


@dataclass(frozen=True, kw_only=True)
class Certified(Described):
    """What every certified method is told. `fine_tune` follows the noise, and costs nothing in (ε, δ).

    clean, public, recompute, statistics_batches and autocast are those of `expunge.unlearn`. `simulate` is a seed for the
    noise: reproducible, for research, and its certificate verifies as nothing.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind] = "certified"

    epsilon: float
    delta: float
    fine_tune: FineTune | None = None
    clean: FineTune | None = None
    accountant: Accountant = "gaussian"
    public: Sequence[str] = ()
    recompute: dict[str, Callable[[nn.Module], Tensor]] | None = None
    statistics_batches: int = 100
    autocast: torch.dtype | None = None
    simulate: int | None = None

    def certify(self, task: Task, blocks: Design, **schedule: Any) -> Unlearned:
        """Plan this schedule on these blocks, carry it out, and give back what `expunge.unlearn` certified."""
        loss = _Counted(task.loss)
        with Work(self, task) as work:
            target = {"epsilon": self.epsilon, "delta": self.delta, "accountant": self.accountant}
            plan = api.plan(task.model, blocks=blocks, **target, **schedule)
            outcome = api.unlearn(
                task.model,
                task.retain,
                loss,
                plan,
                fine_tune=self.fine_tune,
                clean=self.clean,
                design=blocks,
                public=self.public,
                recompute=self.recompute,
                forget=task.forget_indices,
                indices=task.indices,
                statistics_batches=self.statistics_batches,
                autocast=self.autocast,
                simulate=self.simulate,
                progress=work.meter,
            )
        bases = blocks.bases if isinstance(blocks, KeepSpace) else None
        recipes = [recipe.steps for recipe in (bases, self.clean, self.fine_tune) if recipe is not None]
        work.steps = sum(len(block.steps) for block in plan.blocks) + sum(recipes)
        work.samples = loss.samples
        noise = [{"dimension": block.dimension, "sigma": [step.sigma for step in block.steps]} for block in plan.blocks]
        return work.done(outcome.certificate, phases=outcome.record.seconds, noise=noise)


@dataclass(frozen=True, kw_only=True)
class Calibrated(Certified):
    """A certified method whose Δ was measured: `proximity`, a calibration or a number."""

    proximity: Calibration | Proximity | float


class _Counted(nn.Module):
    """The loss, counting samples. A module, so that the engine still sees a loss that has parameters of its own."""

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.loss, self.samples = loss, 0

    def forward(self, model: nn.Module, batch: Any) -> Tensor:
        """The loss."""
        self.samples += batch_size(batch)
        return self.loss(model, batch)
