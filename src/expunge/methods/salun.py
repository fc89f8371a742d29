"""SalUn: teach D_f random labels, but move only the weights that D_f's loss leans on most."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..accounting.checks import number
from .classifier import class_count, inputs_and_labels, wrong_labels
from .descent import Descent, trainable
from .passes import share_of
from .task import Kind, Task, Unlearned
from .work import Work, one_pass


@dataclass(frozen=True, kw_only=True)
class SalUn(Descent):
    """Saliency unlearning (Fan et al. 2024). Each epoch: D_f with wrong labels drawn anew, then D_r.

    `fraction` of the weights may move: those where the gradient of D_f's loss is largest, all layers ranked together. The
    paper's is one half. Epochs are the paper's; the learning rate is its code's default, and is searched there per task.
    `pass_share` is how much of D_f the saliency rests on, and how much of D_f and D_r one epoch sees: all in the paper.
    """

    name: ClassVar[str] = "salun"
    kind: ClassVar[Kind] = "empirical"

    fraction: float = 0.5
    pass_share: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("fraction", self.fraction, above=0.0, most=1.0)
        number("pass_share", self.pass_share, above=0.0, most=1.0)

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        forget, parameters = task.forgotten(self.name), trainable(task.model)
        optimizer = replace(self, weight_decay=0.0).optimizer(
            parameters
        )  # decay is added before the mask, not after it
        with Work(self, task) as work:
            classes = class_count(self.name, task.model, forget)
            forget, retain = (share_of(source, self.pass_share) for source in (forget, task.retain))
            mask = self._saliency(work, forget, parameters)

            def only_salient() -> None:
                for parameter, keep in zip(parameters, mask, strict=True):
                    if parameter.grad is not None:
                        parameter.grad.add_(parameter.detach(), alpha=self.weight_decay).mul_(keep)

            for _, batch in self.stream(work, _Lessons(forget, retain, classes)):
                work.step(optimizer, task.loss(task.model, batch), edit=only_salient)
        return work.done(salient=sum(int(keep.sum()) for keep in mask))

    def _saliency(self, work: Work, forget: Iterable[Any], parameters: Sequence[nn.Parameter]) -> list[Tensor]:
        """Which weights may move: 1 for the top `fraction` by |gradient of D_f's loss|, if it is not 0; otherwise 0."""
        gradients = [torch.zeros_like(parameter) for parameter in parameters]
        work.model.eval()
        for batch in work.batches(forget):
            found = torch.autograd.grad(work.task.loss(work.model, batch), parameters, allow_unused=True)
            for total, part in zip(gradients, found, strict=True):
                total.add_(part if part is not None else 0.0)
        work.model.train()
        sizes = torch.cat([gradient.reshape(-1) for gradient in gradients]).abs_()
        least = sizes.kthvalue(len(sizes) - max(1, round(self.fraction * len(sizes))) + 1).values
        return [((g.abs() >= least) & (g != 0.0)).to(g.dtype) for g in gradients]


class _Lessons:
    """One epoch: D_f with wrong labels, then D_r."""

    def __init__(self, forget: Iterable[Any], retain: Iterable[Any], classes: int) -> None:
        self._forget, self._retain, self._classes = forget, retain, classes

    def __iter__(self) -> Iterator[Any]:
        for batch in self._forget:
            inputs, labels = inputs_and_labels(SalUn.name, batch)
            yield inputs, wrong_labels(labels, self._classes)
        yield from one_pass(self._retain)
