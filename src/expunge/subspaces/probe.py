"""Is it really an orthogonal decomposition? Measured on a random vector, for any design, the user's own included."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .norms import norm
from .protocol import Partition


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
    if squares["vector"] == 0.0:
        return 0.0
    return max(
        math.sqrt(squares["difference"] / squares["vector"]), abs(squares["projected"] / squares["vector"] - 1.0)
    )


def _projected(partition: Partition, index: int, vector: Tensor) -> tuple[Tensor, float]:
    """Σ A_i A_iᵀ v and Σ‖A_iᵀ v‖² of one tensor."""
    total, square = torch.zeros_like(vector), 0.0
    for piece in partition.pieces_of(index, vector):
        coordinates = piece.project(vector)
        square += _square(coordinates)
        piece.add_(total, coordinates)
    return total, square


class Bystander:
    """Another block than the active one, looked at before and after: it must not have moved."""

    def __init__(self, partition: Partition, active: int, tensors: Sequence[Tensor]) -> None:
        self._partition, self._tensors = partition, tensors
        other = (active + 1) % len(partition.dimensions)
        self._other = other if other != active else None
        self._before = [coordinates.clone() for coordinates in self._coordinates()]

    @torch.no_grad()
    def moved(self) -> float:
        """The norm of its change, relative to all tensors' norm."""
        change = sum(_square(now - before) for now, before in zip(self._coordinates(), self._before, strict=True))
        return math.sqrt(change / sum(_square(tensor) for tensor in self._tensors)) if change > 0.0 else 0.0

    def _coordinates(self) -> Iterator[Tensor]:
        """One tensor's at a time; the pieces are made anew, because keeping them would cost more than the coordinates."""
        for part in [] if self._other is None else self._partition.parts(self._other, self._tensors):
            yield part.piece.project(self._tensors[part.tensor].detach())


def _square(tensor: Tensor) -> float:
    return norm(tensor).item() ** 2
