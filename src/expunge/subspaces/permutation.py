"""`Permutation`: random coordinates. Nothing is kept but the active block's places, a gather and a scatter a step.

Of every k consecutive coordinates of a tensor each block has one. Which, a random shift says, one for each such group: it
is a function of seed, tensor and group alone (Philox, which counts), so nobody has to keep or to draw the others.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..accounting.checks import whole
from .pieces import Coordinates
from .protocol import Design, Shapes, Split, Window

GROUPS = 32_768  # at a time: what is made of them stays in the cache
Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Permutation(Design):
    """k blocks of random coordinates, every tensor divided as evenly as its size allows."""

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
        """A running offset keeps the blocks even over the whole model, to one coordinate."""
        splits, offset = list[Split](), 0
        for index, shape in enumerate(shapes.values()):
            splits.append(_Shifted(shape.numel(), self.k, offset % self.k, (self.seed % 2**64, index)))
            offset += shape.numel()
        return splits


@dataclass(frozen=True)
class _Shifted:
    """One tensor: coordinate i of a group lies in the block (offset + i + the group's shift) modulo k.

    The last group may be short. Its blocks are those that come next, wherever it is shifted to.
    """

    elements: int
    k: int
    offset: int
    key: tuple[int, int]

    def size(self, block: int) -> int:
        """How often `block` occurs among offset … offset + elements − 1, modulo k."""
        return evenly(self.elements, self.k, self.offset, block)

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Coordinates:
        """The block's coordinates, counted from the window's first."""
        first, last = window or (0, self.elements)
        return Coordinates(lambda: torch.from_numpy(self._places(block, first, last)).to(like.device))

    def before(self, block: int, place: int) -> int:
        """One of each group that ends before the place; then it depends on where the block has its own in the next."""
        group = min(place, self.elements - 1) // self.k
        inside = place - group * self.k
        return group + int(np.count_nonzero(self._found(block, group, group + 1) < inside)) if self.elements else 0

    def _places(self, block: int, first: int, last: int) -> Array:
        """Where the block's coordinates are between two places, in as few bytes as will do."""
        small = np.int32 if last - first < 2**31 else np.int64
        places, done = np.empty(self.before(block, last) - self.before(block, first), small), 0
        begin, end = first // self.k, -(-last // self.k)
        for start in range(begin, end, GROUPS):
            found, base = self._found(block, start, min(start + GROUPS, end)), start * self.k - first
            if start == begin or start + GROUPS >= end:  # the window may begin or end within a group
                found = found[(found >= -base) & (found < last - first - base)]
            np.add(found, places.dtype.type(base), out=places[done : done + len(found)], casting="same_kind")
            done += len(found)
        return places

    def _found(self, block: int, start: int, stop: int) -> Array:
        """The block's coordinates in these groups, counted from their first; the last group of all may have none."""
        turn, (full, rest) = (block - self.offset) % self.k, divmod(self.elements, self.k)
        places = turn - self._shifts(start, stop, self.k)
        places += (places < 0) * places.dtype.type(self.k)
        if stop > full:
            places[-1] = (turn - self._shifts(full, full + 1, rest)[0]) % rest if turn < rest else 0
        places += np.arange(0, len(places) * self.k, self.k, dtype=places.dtype)
        return places[:-1] if stop > full and turn >= rest else places

    def _shifts(self, start: int, stop: int, among: int) -> Array:
        """Random numbers of 0 … among − 1 for the groups start … stop − 1, as evenly as 2¹⁶ (for many blocks 2³²) allows."""
        bits = 16 if self.k <= 256 else 32
        count, skipped = divmod(start, 256 // bits)  # Philox makes 256 bits at each count
        draws = np.random.Philox(key=np.array(self.key, np.uint64), counter=[count, 0, 0, 0])
        words = draws.random_raw(-(-(skipped + stop - start) * bits // 64)).astype("<u8", copy=False)
        drawn = words.view(f"<u{bits // 8}")[skipped : skipped + stop - start].astype(f"u{bits // 4}")
        np.right_shift(np.multiply(drawn, among, out=drawn), bits, out=drawn)
        return drawn.view(f"i{bits // 4}")


def evenly(elements: int, k: int, offset: int, block: int) -> int:
    """How many of offset, …, offset + elements − 1 leave the remainder `block` modulo k."""
    return (elements - (block - offset) % k + k - 1) // k
