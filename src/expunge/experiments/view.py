"""A workload's samples as its model sees them, on one device: a batch is one indexing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..workloads import Augment, Workload


class View:
    """The data set of a workload on its device. Where nothing is augmented, it is normalised once."""

    def __init__(self, workload: Workload) -> None:
        recipe, data = workload.recipe, workload.dataset.to(workload.device)
        self.workload = replace(workload, dataset=data)
        self.loss = replace(workload.loss, autocast=recipe.autocast)  # as the model was trained
        self.device, self.augment = torch.device(workload.device), recipe.augment
        self._scale = (recipe.mean or data.mean, recipe.std or data.std)
        ready = recipe.augment == Augment()
        self.inputs = self.augment.evaluation(data.inputs, *self._scale) if ready else data.inputs
        self.labels, self._ready = data.labels, ready
        self.test_inputs, self.test_labels = data.test_inputs, data.test_labels
        self.batch_size = recipe.batch_size or len(data)

    def batches(self, indices: Tensor, *, augmented: bool) -> "Batches":
        """Training samples by index, in a new order each time."""
        return Batches(self, indices, augmented)

    def pictures(self, rows: Tensor, chance: torch.Generator | None) -> Tensor:
        """Inputs of the model; with chance, augmented as in training."""
        if self._ready:
            return self.inputs[rows]
        if chance is None:
            return self.augment.evaluation(self.inputs[rows], *self._scale)
        return self.augment.training(self.inputs[rows], chance, *self._scale)

    def judged(self, indices: Tensor | None, most: int | None, size: int = 500) -> Iterator[tuple[Tensor, Tensor]]:
        """Samples in order, for an audit: of the training part, or (None) of the test part; the first `most` of them."""
        if indices is None:
            inputs, labels = self.test_inputs[:most], self.test_labels[:most]
            for start in range(0, len(labels), size):
                part = slice(start, start + size)
                yield self.augment.evaluation(inputs[part], *self._scale), labels[part]
            return
        for rows in indices[:most].to(self.device).split(size):
            yield self.pictures(rows, None), self.labels[rows]


@dataclass(frozen=True, eq=False)
class Batches:
    """(inputs, labels, indices), shuffled by torch's generator. Indices stay on the CPU, where the engine reads them."""

    view: View
    indices: Tensor
    augmented: bool

    def __len__(self) -> int:
        return -(-len(self.indices) // self.view.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        order = self.indices[torch.randperm(len(self.indices))]
        chance = torch.Generator().manual_seed(int(torch.randint(2**62, ()))) if self.augmented else None
        rows = order.to(self.view.device).split(self.view.batch_size)
        for here, there in zip(order.split(self.view.batch_size), rows, strict=True):
            yield self.view.pictures(there, chance), self.view.labels[there], here


def indices_of(batch: Any) -> Tensor:
    """Which samples a batch holds."""
    return batch[2]
