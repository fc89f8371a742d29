"""Batches of a stream as its recipe makes them, again and again: what unlearning iterates over."""

from collections.abc import Iterator

import torch
from torch import Tensor

from .recipes import Recipe
from .stream import Stream


class Loader:
    """One epoch for each iteration. Order and augmentation come from torch's global generator, which a run carries with it.

    Over `stream(split.retain)` these are the retained samples alone. A recipe without a batch size gives one batch of all.
    """

    def __init__(self, stream: Stream, recipe: Recipe) -> None:
        self.stream, self.recipe = stream, recipe

    def __len__(self) -> int:
        return self.recipe.steps_per_epoch(len(self.stream))

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        size = self.recipe.batch_size
        if size is None:
            yield self._batch(torch.arange(len(self.stream)))
            return
        for slots in torch.randperm(len(self.stream)).split(size):
            yield self._batch(slots)

    def _batch(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        inputs, labels = self.stream.batch(slots)
        mean, std = self.recipe.mean or self.stream.dataset.mean, self.recipe.std or self.stream.dataset.std
        return self.recipe.augment.training(inputs, torch.default_generator, mean, std), labels
