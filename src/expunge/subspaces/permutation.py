"""`Permutation`: random coordinates. Linear memory (a byte a coordinate), a gather and a scatter a step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..accounting.checks import whole
from .pieces import Coordinates
from .protocol import Design, Shapes, Split
from .seeds import generator


@dataclass(frozen=True)
class Permutation(Design):
    """k blocks of random coordinates, every tensor divided as evenly as its size allows."""

    k: int
    seed: int = 0

    def __post_init__(self) -> None:
        whole("k", self.k)
        whole("seed", self.seed, least=0)

    def count(self, shapes: Shapes) -> int:
        """K."""
        return self.k

    def splits(self, shapes: Shapes) -> list[Split]:
        """A running offset keeps the blocks even over the whole model, to one coordinate."""
        splits, offset = list[Split](), 0
        for index, shape in enumerate(shapes.values()):
            splits.append(_Labelled(shape.numel(), self.k, offset, generator(self.seed, index)))
            offset += shape.numel()
        return splits


class _Labelled:
    """A block's number for every coordinate."""

    def __init__(self, elements: int, k: int, offset: int, random: torch.Generator) -> None:
        self._elements, self._k, self._offset = elements, k, offset
        kind = torch.uint8 if k <= 256 else torch.int32
        labels = torch.arange(offset, offset + elements).remainder_(k).to(kind)
        self._labels = labels[torch.randperm(elements, generator=random)] if k > 1 else labels

    def size(self, block: int) -> int:
        """How often `block` occurs among offset … offset + elements − 1, modulo k."""
        return evenly(self._elements, self._k, self._offset, block)

    def piece(self, block: int, like: Tensor) -> Coordinates:
        """The coordinates labelled with the block."""
        return Coordinates(self._labels.eq(block).nonzero().view(-1).to(like.device))


def evenly(elements: int, k: int, offset: int, block: int) -> int:
    """How many of offset, …, offset + elements − 1 leave the remainder `block` modulo k."""
    return (elements - (block - offset) % k + k - 1) // k
