"""IU: one Newton-like step away from D_f, with the Fisher matrix of retained samples in the Hessian's place."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..accounting.checks import number, whole
from .descent import trainable
from .passes import share_of
from .settings import Described
from .task import Kind, Task, Unlearned
from .work import Work, batch_size


@dataclass(frozen=True, kw_only=True)
class Influence(Described):
    """Influence unlearning (Koh & Liang 2017; Izzo et al. 2021), by WoodFisher as in SalUn's code (Fan et al. 2024).

    θ ← θ + alpha · F⁻¹ (n_f/n) (ḡ_f − ḡ_r), with ḡ the mean gradients of D_f and D_r. F⁻¹ is applied in one pass over
    `fisher_samples` retained samples, in memory of two gradients. alpha is searched per task there; there is no one default.
    `pass_share` is how much of D_f and of D_r the mean gradients are taken over: all of both in the paper.
    """

    name: ClassVar[str] = "influence"
    kind: ClassVar[Kind] = "empirical"

    alpha: float = 1.0
    fisher_samples: int = 1000
    pass_share: float = 1.0

    def __post_init__(self) -> None:
        number("alpha", self.alpha, least=0.0)
        whole("fisher_samples", self.fisher_samples)
        number("pass_share", self.pass_share, above=0.0, most=1.0)

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        forget, parameters = task.forgotten(self.name), trainable(task.model)
        with Work(self, task) as work:
            work.model.eval()
            gone, lost = _mean_gradient(work, share_of(forget, self.pass_share), parameters)
            kept, stayed = _mean_gradient(work, share_of(task.retain, self.pass_share), parameters)
            direction = (gone - kept) * (lost / (lost + stayed))
            move = self._through_fisher(work, direction, parameters)
            with torch.no_grad():
                start = 0
                for parameter in parameters:
                    part = move[start : start + parameter.numel()]
                    parameter.add_(part.view_as(parameter), alpha=self.alpha)
                    start += parameter.numel()
            work.steps = 1
        return work.done()

    def _through_fisher(self, work: Work, vector: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
        """F⁻¹v by rank-one updates (Sherman–Morrison), F = I + (1/N) Σ g gᵀ.

        The exact recursion (Singh & Alistarh 2020) needs F⁻¹g for every g, which is quadratic. SalUn's code follows the
        first sample's F⁻¹g alone, and so does this.
        """
        count, found, follow = self.fisher_samples, vector.clone(), None
        for sample in islice(_singly(work.batches(work.task.retain)), count):
            gradient = _gradient(work, sample, parameters)
            if follow is None:
                follow = gradient.clone()
                continue
            overlap = torch.dot(follow, gradient)
            found -= torch.dot(found, gradient) / (count + overlap) * follow
            follow -= overlap / (count + overlap) * follow
        return found


def _gradient(work: Work, batch: Any, parameters: Sequence[nn.Parameter]) -> Tensor:
    found = torch.autograd.grad(
        work.task.loss(work.model, batch), parameters, allow_unused=True, materialize_grads=True
    )
    return torch.cat([part.reshape(-1) for part in found])


def _mean_gradient(work: Work, source: Iterable[Any], parameters: Sequence[nn.Parameter]) -> tuple[Tensor, int]:
    """Over all samples, and how many they are."""
    total, samples = torch.zeros(sum(p.numel() for p in parameters), device=work.device), 0
    for batch in work.batches(source):
        total.add_(_gradient(work, batch, parameters), alpha=batch_size(batch))
        samples += batch_size(batch)
    return total / samples, samples


def _singly(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of one, from batches that are tuples of tensors."""
    for batch in batches:
        for i in range(batch_size(batch)):
            yield tuple(part[i : i + 1] if isinstance(part, Tensor) else part for part in batch)
