"""How often a model is right."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .augment import PLAIN, Augment


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
