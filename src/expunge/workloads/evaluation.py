"""Samples as a model sees them in evaluation, and how often it is right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .augment import PLAIN, Augment


@dataclass(frozen=True, eq=False)
class EvaluationBatches:
    """(inputs, labels) without chance, made when they are asked for, and as often."""

    inputs: Tensor
    labels: Tensor
    mean: Sequence[float]
    std: Sequence[float]
    augment: Augment = PLAIN
    batch_size: int = 500

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for inputs, labels in zip(self.inputs.split(self.batch_size), self.labels.split(self.batch_size), strict=True):
            yield self.augment.evaluation(inputs, self.mean, self.std), labels


def accuracy(
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    *,
    mean: Sequence[float],
    std: Sequence[float],
    augment: Augment = PLAIN,
    batch_size: int = 500,
) -> float:
    """The share of samples whose label the model ranks first. The model's mode is what it was, afterwards."""
    device = next(model.parameters()).device
    training, right = model.training, 0
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(labels), batch_size):
            batch = augment.evaluation(inputs[start : start + batch_size].to(device), mean, std)
            right += int((model(batch).argmax(1) == labels[start : start + batch_size].to(device)).sum())
    model.train(training)
    return right / len(labels)
