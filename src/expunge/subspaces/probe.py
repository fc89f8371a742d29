"""Is it really an orthogonal decomposition? Measured on a random vector, for any design, the user's own included."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .norms import norm
from .protocol import Partition

SAMPLE = 65_536


@torch.no_grad()
def decomposition_error(partition: Partition, tensors: Sequence[Tensor]) -> float:
    """The larger of ‖Σ A_i A_iᵀ v − v‖/‖v‖ and |Σ‖A_iᵀ v‖²/‖v‖² − 1|, v random. Both are 0 for orthogonal blocks alone.

    For a keep-space, whose blocks are not everything, the projection is measured on itself: Aᵀ A must give back Aᵀ v.
    """
    random = torch.Generator()
    random.seed()
    squares = dict.fromkeys(("vector", "difference", "projected"), 0.0)
    for index, tensor in enumerate(tensors):
        vector = torch.randn(tensor.shape, generator=random).to(tensor)
        if partition.partial:
            vector = _projected(partition, index, vector)[0]
        total, projected = _projected(partition, index, vector)
        squares["vector"] += _square(vector)
        squares["difference"] += _square(total.sub_(vector))
        squares["projected"] += projected
    vector, difference, projected = partition.total([*squares.values()])
    return 0.0 if vector == 0.0 else max(math.sqrt(difference / vector), abs(projected / vector - 1.0))


def _projected(partition: Partition, index: int, vector: Tensor) -> tuple[Tensor, float]:
    """Σ A_i A_iᵀ v and Σ‖A_iᵀ v‖² of one tensor."""
    total, square = torch.zeros_like(vector), 0.0
    for part in partition.parts_of(index, vector):
        coordinates = part.piece.project(vector)
        square += part.weight * _square(coordinates)
        part.piece.add_(total, coordinates)
    return total, square


class Bystander:
    """Another block than the active one, looked at before and after in SAMPLE coordinates a tensor: it must not move."""

    def __init__(self, partition: Partition, active: int, tensors: Sequence[Tensor]) -> None:
        self._partition, self._tensors = partition, tensors
        other = (active + 1) % len(partition.dimensions)
        self._other = other if other != active else None
        self._before = [(weight, sample.clone()) for weight, sample in self._samples()]

    @torch.no_grad()
    def moved(self) -> float:
        """The norm of its change, relative to all tensors' norm."""
        pairs = zip(self._samples(), self._before, strict=True)
        change = sum(weight * _square(now - before) for (weight, now), (_, before) in pairs)
        (change,) = self._partition.total([change])
        if change == 0.0:
            return 0.0
        (size,) = self._partition.total([sum(_square(tensor) for tensor in self._tensors)])
        return math.sqrt(change / size)

    def _samples(self) -> Iterator[tuple[float, Tensor]]:
        """Of every tensor evenly spread coordinates, with how many each stands for; pieces are made anew to keep none."""
        for part in [] if self._other is None else self._partition.walk(self._other, self._tensors):
            coordinates = part.piece.project(self._tensors[part.tensor].detach())
            every = -(-len(coordinates) // SAMPLE)
            yield part.weight * every, coordinates[::every]


def _square(tensor: Tensor) -> float:
    return norm(tensor).item() ** 2
