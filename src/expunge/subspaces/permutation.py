"""`Permutation`: random coordinates. Linear memory (a byte a coordinate), a gather and a scatter a step."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..accounting.checks import whole
from .pieces import Coordinates
from .protocol import Design, Shapes, Split, Window
from .seeds import generator

CHUNK = 65_536


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
        wide = torch.int32 if elements + k < 2**31 else torch.int64  # while they are made: no more than a copy
        places = torch.randperm(elements, generator=random, dtype=wide)
        self._labels = places.add_(offset % k).remainder_(k).to(torch.uint8 if k <= 256 else torch.int32)

    def size(self, block: int) -> int:
        """How often `block` occurs among offset … offset + elements − 1, modulo k."""
        return evenly(self._elements, self._k, self._offset, block)

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Coordinates:
        """The coordinates labelled with the block, counted from the window's first."""
        first, last = window or (0, self._elements)
        return Coordinates(lambda: _places(self._labels[first:last], block).to(like.device))

    def before(self, block: int, place: int) -> int:
        """In order of their places."""
        return int(np.count_nonzero(self._labels[:place].numpy() == block))


def _places(labels: Tensor, block: int) -> Tensor:
    """Where a label is the block's, in as few bytes as will do; chunk by chunk, for a mask of them all would be as large."""
    numbers, small = labels.numpy(), np.int32 if len(labels) < 2**31 else np.int64
    starts = range(0, len(numbers), CHUNK)
    found = [(np.flatnonzero(numbers[start : start + CHUNK] == block) + start).astype(small) for start in starts]
    return torch.from_numpy(np.concatenate(found) if found else np.empty(0, small))


def evenly(elements: int, k: int, offset: int, block: int) -> int:
    """How many of offset, …, offset + elements − 1 leave the remainder `block` modulo k."""
    return (elements - (block - offset) % k + k - 1) // k
