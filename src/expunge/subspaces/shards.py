"""A partition seen by one of several processes, each of which holds some consecutive rows of every tensor.

Where no line of a block crosses from one process to the next, the block is local: its coordinates are projected, noised and
added where they lie, and nothing is sent. Where one does (a rotation along the divided dimension), the processes add up
their projections: all of them then have the tensor's coordinates in the block, and add the same change, each to its own
rows. No weight is ever sent.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import CoverageError
from .protocol import Part, Partition, Piece, Split, Window


class Cut(NamedTuple):
    """Where a flattened tensor is divided among the processes: 0, …, its size. This process has the piece after `mine`."""

    places: Sequence[int]
    mine: int

    @property
    def window(self) -> Window:
        """What this process holds."""
        return Window(*self.places[self.mine : self.mine + 2])


class Spread:
    """A piece whose lines run over several processes."""

    def __init__(self, piece: Piece, shape: torch.Size, window: Window, add_up: Callable[[Tensor], Tensor]) -> None:
        self._piece, self._shape, self._window, self._add_up = piece, shape, window, add_up

    def project(self, tensor: Tensor) -> Tensor:
        """The sum over the processes of what each one's rows contribute."""
        entire = tensor.new_zeros(self._shape)
        self._mine(entire).copy_(tensor.reshape(-1))
        return self._add_up(self._piece.project(entire).clone())

    def add_(self, tensor: Tensor, coordinates: Tensor, first: int = 0) -> None:
        """Just the rows of A_i b that are here."""
        entire = tensor.new_zeros(self._shape)
        self._piece.add_(entire, coordinates)
        tensor.add_(self._mine(entire).view(tensor.shape))

    def unit(self, tensor: Tensor) -> int | None:
        """All: lines do not begin and end here."""
        return None

    def _mine(self, entire: Tensor) -> Tensor:
        return entire.view(-1)[self._window.first : self._window.last]


class Shards(Partition):
    """The same blocks; the parts are those of this process."""

    def __init__(
        self,
        entire: Partition,
        shapes: Sequence[torch.Size],
        cuts: Sequence[Cut],
        *,
        add_up: Callable[[Tensor], Tensor],
        total: Callable[[Sequence[float]], list[float]],
    ) -> None:
        vars(self).update(vars(entire))
        self._shapes, self._cuts, self._add_up, self._total = shapes, cuts, add_up, total

    def parts(self, block: int, tensors: Sequence[Tensor]) -> list[Part]:
        """What the block touches here; all processes together must hold as many coordinates as it has."""
        parts = list(self.walk(block, tensors))
        (held,) = self._total([sum(part.size * part.weight for part in parts)])
        if round(held) != self.dimensions[block]:
            raise CoverageError(
                f"the processes hold {held:,.1f} coordinates of block {block}, which has {self.dimensions[block]:,}."
            )
        return parts

    def walk(self, block: int, tensors: Sequence[Tensor]) -> Iterator[Part]:
        """Without those of which nothing is here."""
        return (part for part in super().walk(block, tensors) if part.size)

    def parts_of(self, tensor: int, like: Tensor) -> Iterator[Part]:
        """Every block's part of what is here of one tensor."""
        return (part for part in super().parts_of(tensor, like) if part.size)

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all processes."""
        return self._total(values)

    def _part(self, index: int, split: Split, block: int, like: Tensor) -> Part:
        cut, shape = self._cuts[index], self._shapes[index]
        before = {
            place: split.before(block, place) for place in cut.places
        }  # every process's, so that all decide alike
        if None in before.values():
            spread = Spread(split.piece(block, like), shape, cut.window, self._add_up)
            return Part(index, split.size(block), spread, weight=1.0 / (len(cut.places) - 1))
        first, last = (before[place] or 0 for place in cut.window)
        return Part(index, last - first, split.piece(block, like, cut.window), first)
