"""AMUN: fine-tune on adversarial examples near D_f, with the wrong labels that the model itself gives them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..accounting.checks import number, whole
from .adversarial import nearest_wrong
from .classifier import class_count, inputs_and_labels
from .descent import Descent, trainable
from .passes import share_of
from .task import Kind, Task, Unlearned
from .work import Work, one_pass


@dataclass(frozen=True, kw_only=True)
class Amun(Descent):
    """Adversarial machine unlearning (Ebrahimpour-Boroojeny et al. 2025): PGD-50 in ℓ2 for the nearest adversarial examples.

    With `retain`, it trains on D_r ∪ D_A; without, on D_f ∪ D_A, for those who no longer have D_r. `radius` is where the
    search begins, in the units of the model's inputs; it doubles until the label turns. `pass_share` is how much of D_f is
    attacked, and how much of the data one epoch sees: all of it in the paper.
    """

    name: ClassVar[str] = "amun"
    kind: ClassVar[Kind] = "empirical"

    retain: bool = True
    radius: float = 0.1
    attack_steps: int = 50
    pass_share: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("radius", self.radius, above=0.0)
        whole("attack_steps", self.attack_steps)
        number("pass_share", self.pass_share, above=0.0, most=1.0)

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        forget, optimizer = task.forgotten(self.name), self.optimizer(trainable(task.model))
        with Work(self, task) as work:
            class_count(self.name, task.model, forget)
            forget = share_of(forget, self.pass_share)
            work.model.eval()
            examples, labels, resisted = self._attack(work, forget)
            work.model.train()
            source = share_of(task.retain, self.pass_share) if self.retain else forget
            lessons = _Lessons(source, examples, labels)
            for _, batch in self.stream(work, lessons):
                work.step(optimizer, task.loss(task.model, batch), total=self.total(lessons))
        return work.done(examples=len(labels), resisted=resisted)

    def _attack(self, work: Work, forget: Iterable[Any]) -> tuple[Tensor, Tensor, int]:
        examples, labels, resisted = list[Tensor](), list[Tensor](), 0
        for batch in work.batches(forget):
            inputs, own = inputs_and_labels(self.name, batch)
            found, wrong, passes = nearest_wrong(work.model, inputs, own, radius=self.radius, steps=self.attack_steps)
            work.samples += passes
            resisted += int((wrong == own).sum())
            examples.append(found)
            labels.append(wrong)
        return torch.cat(examples), torch.cat(labels), resisted


class _Lessons:
    """One epoch: each batch of the source with its share of the adversarial examples, in a new order."""

    def __init__(self, source: Iterable[Any], examples: Tensor, labels: Tensor) -> None:
        self._source, self._examples, self._labels = source, examples, labels
        self._batches = len(source) if hasattr(source, "__len__") else sum(1 for _ in source)  # pyright: ignore[reportArgumentType]

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Any]:
        order = torch.randperm(len(self._labels), device=self._labels.device)
        shares = order.tensor_split(max(1, self._batches))
        for batch, share in zip(one_pass(self._source), shares, strict=False):
            inputs, labels = (part.to(self._labels.device) for part in inputs_and_labels(Amun.name, batch))
            yield torch.cat([inputs, self._examples[share]]), torch.cat([labels, self._labels[share]])
