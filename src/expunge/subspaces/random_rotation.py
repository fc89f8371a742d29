"""`RandomRotation`: the paper's blocks. Every weight has a share in every block."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..accounting.checks import whole
from ..errors import ConfigError
from .protocol import Design, Shapes, Split
from .rotated import Chunks, Lines
from .seeds import generator

LONGEST_LINE = 8192  # a basis of n directions holds n² numbers
VECTOR_CHUNK = 512  # a vector has but one dimension; in chunks its basis stays small


@dataclass(frozen=True)
class RandomRotation(Design):
    """Per tensor a Haar-random orthogonal basis along one dimension, its directions divided among k blocks.

    The smallest dimension of at least k is rotated. Memory and set-up grow with its square and cube, so for long
    dimensions take `FastRotation`.
    """

    k: int
    seed: int = 0

    def __post_init__(self) -> None:
        whole("k", self.k)
        whole("seed", self.seed, least=0)

    def count(self, shapes: Shapes) -> int:
        """K."""
        return self.k

    def splits(self, shapes: Shapes) -> list[Split]:
        """One basis per tensor; a running offset keeps the blocks even."""
        splits, offset = list[Split](), 0
        for index, (name, shape) in enumerate(shapes.items()):
            basis = _haar_from(generator(self.seed, index))
            if len(shape) < 2:
                split = Chunks(shape.numel(), max(VECTOR_CHUNK, self.k), basis, self.k, offset)
            else:
                split = Lines(shape, self._dimension(name, shape), basis, self.k, offset)
            splits.append(split)
            offset += split.directions
        return splits

    def _dimension(self, name: str, shape: torch.Size) -> int:
        long_enough = [dim for dim, size in enumerate(shape) if size >= self.k]
        dim = (
            min(long_enough, key=lambda i: shape[i]) if long_enough else max(range(len(shape)), key=lambda i: shape[i])
        )
        if shape[dim] > LONGEST_LINE:
            raise ConfigError(
                f"RandomRotation({self.k}) needs a basis of {shape[dim]:,}² numbers for {name} {tuple(shape)}; "
                f"the limit is {LONGEST_LINE:,}². Use FastRotation({self.k}) or Permutation({self.k})."
            )
        return dim


def _haar_from(random: torch.Generator):
    def haar(n: int) -> Tensor:
        """QR of a Gaussian matrix, with R's signs put right, is distributed as the Haar measure."""
        q, r = torch.linalg.qr(torch.randn(n, n, generator=random))
        return q * r.diagonal().sign()

    return haar
