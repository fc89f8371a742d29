"""What the methods that think in classes ask of a model and its batches, checked once, in words."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError, DataError
from ..unlearning.batches import to_device


def inputs_and_labels(method: str, batch: Any) -> tuple[Tensor, Tensor]:
    """The first two entries of a batch."""
    parts = list(batch[:2]) if isinstance(batch, (list, tuple)) else []
    inputs, labels = [*parts, None, None][:2]
    if not (isinstance(inputs, Tensor) and isinstance(labels, Tensor) and labels.shape == inputs.shape[:1]):
        shapes = [tuple(part.shape) if isinstance(part, Tensor) else type(part).__name__ for part in parts]
        raise DataError(
            f"{method} needs batches (inputs, labels) of tensors, one whole number for each sample; got "
            f"{type(batch).__name__} {shapes}."
        )
    if labels.is_floating_point():
        raise DataError(f"{method} needs whole numbers as labels; got {labels.dtype}. Convert with labels.long().")
    return inputs, labels


def class_count(method: str, model: nn.Module, batches: Iterable[Any]) -> int:
    """How many classes the model scores; refuses what is no classifier, and labels that it does not know."""
    classes, device = 0, next(model.parameters()).device
    for batch in batches:
        inputs, labels = inputs_and_labels(method, batch)
        classes = classes or _width(method, model, to_device(inputs, device))
        low, high = int(labels.min()), int(labels.max())
        if not 0 <= low <= high < classes:
            raise DataError(
                f"{method}: a label is {low if low < 0 else high}, and the model scores classes 0 … {classes - 1}: there is "
                "no such class."
            )
    if not classes:
        raise DataError(
            f"{method}: the data that goes gave no batch. Pass something that can be iterated again and again."
        )
    return classes


def _width(method: str, model: nn.Module, inputs: Tensor) -> int:
    modes = {module: module.training for module in model.modules()}
    with torch.no_grad():
        scores: Any = model.eval()(inputs)
    for module, mode in modes.items():
        module.training = mode
    if not isinstance(scores, Tensor) or scores.dim() != 2 or len(scores) != len(inputs) or scores.shape[1] < 2:
        shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise ConfigError(
            f"{method} needs a classifier: model(inputs) must give one row of scores for each sample, two classes or more; "
            f"got {shape} for {len(inputs)} samples."
        )
    return scores.shape[1]


def wrong_labels(labels: Tensor, classes: int) -> Tensor:
    """For each label another one, at random."""
    return (labels + torch.randint(1, classes, labels.shape, device=labels.device)) % classes
