"""`FastRotation`: random signs, an orthonormal cosine transform, and a random division of its directions."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..accounting.checks import whole
from .protocol import Design, Shapes, Split
from .rotated import Basis, Chunks
from .seeds import generator

CHUNK = 64


@dataclass(frozen=True)
class FastRotation(Design):
    """The idea of `RandomRotation` for any size, in linear memory.

    The transform acts on chunks of the flattened tensor, as one matrix product, which on every machine we measured is
    faster than a Fourier transform of the whole (docs/subspaces.md).
    """

    layout = 2
    k: int
    seed: int = 0

    def __post_init__(self) -> None:
        whole("k", self.k)
        whole("seed", self.seed, least=0)

    def count(self, shapes: Shapes) -> int:
        """K."""
        return self.k

    def splits(self, shapes: Shapes) -> list[Split]:
        """Signs and shuffle of its own for every tensor; a running offset keeps the blocks even."""
        splits, offset = list[Split](), 0
        for index, shape in enumerate(shapes.values()):
            basis = _cosine_from(generator(self.seed, index))
            split = Chunks(shape.numel(), max(CHUNK, self.k), basis, self.k, offset)
            splits.append(split)
            offset += split.directions
        return splits


def _cosine_from(random: torch.Generator) -> Basis:
    def cosine(n: int) -> Tensor:
        """diag(±1) · DCT-II with its columns shuffled."""
        place = torch.arange(n, dtype=torch.float64)
        transform = torch.cos(math.pi / max(n, 1) * torch.outer(place + 0.5, place)) * math.sqrt(2.0 / max(n, 1))
        transform[:, :1] *= math.sqrt(0.5)
        signs = torch.randint(0, 2, (n, 1), generator=random) * 2 - 1
        return (signs * transform)[:, torch.randperm(n, generator=random)].float()

    return cosine
