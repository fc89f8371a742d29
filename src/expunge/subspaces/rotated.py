"""How a tensor is divided by an orthogonal matrix: its columns are dealt to the blocks, one after another."""

from collections.abc import Callable

import torch
from torch import Tensor

from .permutation import evenly
from .pieces import Chunked, Rotated
from .protocol import Window

Basis = Callable[[int], Tensor]  # the n × n orthogonal matrix for lines of length n


class Dealt:
    """The columns of one orthogonal matrix, dealt to k blocks from an offset on."""

    def __init__(self, basis: Tensor, k: int, offset: int) -> None:
        self._basis, self._k, self._offset = basis, k, offset

    def __len__(self) -> int:
        return len(self._basis)

    def width(self, block: int) -> int:
        """How many columns the block gets."""
        return evenly(len(self._basis), self._k, self._offset, block)

    def columns(self, block: int, like: Tensor) -> Tensor:
        """Every k-th column, from the block's first."""
        part = self._basis[:, (block - self._offset) % self._k :: self._k]
        return part.to(device=like.device, dtype=like.dtype).contiguous()


class Lines:
    """The same matrix for every line of the tensor along one dimension."""

    def __init__(self, shape: torch.Size, dim: int, basis: Basis, k: int, offset: int) -> None:
        self.directions = shape[dim]
        self._shape, self._dim, self._lines = shape, dim, shape.numel() // max(1, shape[dim])
        self._dealt = Dealt(basis(shape[dim]), k, offset)

    def size(self, block: int) -> int:
        """Lines times columns."""
        return self._lines * self._dealt.width(block)

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Rotated:
        """The block's columns, for however many lines."""
        return Rotated(self._dealt.columns(block, like), self._dim)

    def before(self, block: int, place: int) -> int | None:
        """Rows hold whole lines, save where the rows themselves are rotated."""
        if self._dim == 0 and 0 < place < self._shape.numel():
            return None
        return place // max(1, self.directions) * self._dealt.width(block)


class Chunks:
    """The flattened tensor in chunks of one length, and the rest with a matrix of its own."""

    def __init__(self, elements: int, longest: int, basis: Basis, k: int, offset: int) -> None:
        length = max(1, min(elements, longest))
        self._elements, (self._count, rest) = elements, divmod(elements, length)
        self.directions = length + rest
        self._chunk, self._rest = Dealt(basis(length), k, offset), Dealt(basis(rest), k, offset + length)

    def size(self, block: int) -> int:
        """Chunks times columns, and the rest's columns."""
        return self._count * self._chunk.width(block) + self._rest.width(block)

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Chunked:
        """The block's columns of both; whoever has no rest needs none of its columns."""
        rest = self._rest.columns(block, like)
        return Chunked(self._chunk.columns(block, like), rest if self._ends(window) else rest[:0, :0])

    def before(self, block: int, place: int) -> int | None:
        """Between two chunks nothing is divided."""
        if place == self._elements:
            return self.size(block)
        chunks, inside = divmod(place, len(self._chunk))
        return None if inside or place > self._count * len(self._chunk) else chunks * self._chunk.width(block)

    def _ends(self, window: Window | None) -> bool:
        return window is None or window.last == self._elements > window.first
