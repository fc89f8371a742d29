"""How much a unit of noise hurts in each block: the weights by which known gaps share out the noise.

A hyper-parameter like others: take it on a calibration pair, public data or held-out retained data, before the request.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..accounting.checks import number, whole
from ..errors import ConfigError

LEAST = 1e-3  # of the largest weight: a block that seems to bear any noise is not believed


@torch.no_grad()
def curvature(
    model: nn.Module,
    loss: Callable[[nn.Module, Any], Tensor],
    batches: Iterable[Any],
    partition: Any,
    *,
    scale: float,
    draws: int = 4,
    seed: int = 0,
) -> list[float]:
    """The rise of the mean loss under noise of deviation `scale` in one block alone, per coordinate and unit of variance.

    `partition` are the blocks: `design.bind(shapes)`, or of a keep-space `expunge.unlearning.find_bases(...)`.
    """
    scale, draws, batches = number("scale", scale, above=0.0), whole("draws", draws), list(batches)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    before, rises = _mean(model, loss, batches), list[float]()
    for block, dimension in enumerate(partition.dimensions):
        random = torch.Generator().manual_seed(seed)
        noised = [_noised(model, loss, batches, partition.parts(block, parameters), parameters, scale, random)
                  for _ in range(draws)]  # fmt: skip
        rises.append((sum(noised) / draws - before) / (dimension * scale**2))
    if not max(rises) > 0.0:
        raise ConfigError(f"noise of deviation {scale:g} raises the loss in no block; got {rises!r:.80}. Raise scale.")
    return [max(rise, LEAST * max(rises)) for rise in rises]


def _noised(
    model: nn.Module,
    loss: Callable[[nn.Module, Any], Tensor],
    batches: list[Any],
    parts: Iterable[Any],
    parameters: list[nn.Parameter],
    scale: float,
    random: torch.Generator,
) -> float:
    kept = [(part.tensor, parameters[part.tensor].clone()) for part in parts]
    try:
        for part in parts:
            noise = scale * torch.randn(part.size, generator=random)
            part.piece.add_(parameters[part.tensor], noise.to(parameters[part.tensor]))
        return _mean(model, loss, batches)
    finally:
        for index, value in kept:
            parameters[index].copy_(value)


def _mean(model: nn.Module, loss: Callable[[nn.Module, Any], Tensor], batches: list[Any]) -> float:
    if not batches:
        raise ConfigError("curvature needs one batch or more; got none.")
    return sum(loss(model, batch).item() for batch in batches) / len(batches)
