"""What a block design is: a partition of a model's parameters into orthogonal blocks.

A design is a small frozen description (`Permutation(4, seed=7)`). `bind` fits it to the shapes of a model and gives a
`Partition`, which hands out one `Piece` per block and tensor that it touches. A piece is
the pair (A_iᵀ, A_i) for one tensor:

    project(x) = A_iᵀ x, the block's coordinates           add_(x, b):  x ← x + A_i b, in place

Nothing here sees the weights' values: a block is fixed, random from its own (public) seed, or chosen by the user.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from ..accounting.checks import whole
from ..errors import ConfigError, CoverageError

Shapes = Mapping[str, torch.Size]
MOST_BLOCKS = 65_536


class Piece(Protocol):
    """One block's part of one tensor."""

    def project(self, tensor: Tensor) -> Tensor:
        """A_iᵀ x: the coordinates of `tensor` in the block, flat."""
        ...

    def add_(self, tensor: Tensor, coordinates: Tensor, first: int = 0) -> None:
        """X ← x + A_i b, in place; or with just the columns of A_i from the `first` on that there are coordinates for."""
        ...

    def unit(self, tensor: Tensor) -> int | None:
        """How many coordinates belong together: of so many, and multiples, some can be added alone. None: only all."""
        ...


class Part(NamedTuple):
    """One block's part of one of the model's tensors, by the tensor's place in the list."""

    tensor: int
    size: int
    piece: Piece
    first: int = 0  # the number of its first coordinate; not 0 where other processes hold those before it
    weight: float = 1.0  # how much its coordinates count here; below 1 where other processes have the same ones


class Window(NamedTuple):
    """Consecutive coordinates of a flattened tensor, whole rows of it: what one of several processes holds."""

    first: int
    last: int


class Split(Protocol):
    """How one tensor is divided among the blocks."""

    def size(self, block: int) -> int:
        """The number of the tensor's coordinates in the block."""
        ...

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Piece:
        """The block's part (size > 0), for a tensor of `like`'s device and dtype; or for just a window of it.

        A window is asked for only where `before` says that both its ends can be cut.
        """
        ...

    def before(self, block: int, place: int) -> int | None:
        """How many of the block's coordinates belong to the flattened tensor's first `place`; none if a line crosses."""
        ...


@dataclass(frozen=True)
class Design(ABC):
    """A way to divide any model's parameters into orthogonal blocks.

    `layout` is raised whenever the same parameters come to mean other blocks: no run may go on in others than it began in,
    and gaps that were measured in some say nothing about others.
    """

    layout: ClassVar[int] = 1

    @abstractmethod
    def count(self, shapes: Shapes) -> int:
        """How many blocks there are for these tensors."""

    @abstractmethod
    def splits(self, shapes: Shapes) -> list[Split]:
        """One split per tensor, in order."""

    def describe(self) -> dict[str, Any]:
        """The design as plain JSON values: its kind and its parameters, and its layout where that is not the first."""
        layout = {"layout": self.layout} if self.layout > 1 else {}
        return {"kind": type(self).__name__, **asdict(self), **layout}

    def bind(self, shapes: Shapes) -> "Partition":
        """The partition of tensors with these shapes; blocks that would be empty are left out."""
        return Partition(shapes, self.splits(shapes), whole("blocks", self.count(shapes), most=MOST_BLOCKS))


class Partition:
    """A design fitted to a model: blocks 0 … count − 1, each with at least one coordinate."""

    def __init__(self, shapes: Shapes, splits: Sequence[Split], blocks: int, *, partial: bool = False) -> None:
        self.names = list(shapes)
        self._splits = splits
        sizes = [sum(split.size(block) for split in splits) for block in range(blocks)]
        self._blocks = [block for block, size in enumerate(sizes) if size > 0]
        self.dimensions = [size for size in sizes if size > 0]
        self.partial = partial  # the blocks of a keep-space; all other coordinates are reset
        total = sum(shape.numel() for shape in shapes.values())
        if (partial and not sizes) or sum(sizes) == 0 < total:
            raise ConfigError("the keep-space keeps nothing. Raise its rank, or train from the reference.")
        if sum(sizes) != total and not partial:
            raise CoverageError(
                f"the blocks have {sum(sizes):,} coordinates and the model has {total:,}: "
                "every coordinate must lie in exactly one block."
            )

    def parts(self, block: int, tensors: Sequence[Tensor]) -> list[Part]:
        """What the block touches."""
        return list(self.walk(block, tensors))

    def walk(self, block: int, tensors: Sequence[Tensor]) -> Iterator[Part]:
        """The same, one part at a time."""
        at = self._blocks[block]
        pairs = enumerate(zip(self._splits, tensors, strict=True))
        return (self._part(index, split, at, tensor) for index, (split, tensor) in pairs if split.size(at))

    def parts_of(self, tensor: int, like: Tensor) -> Iterator[Part]:
        """Every block's part of one tensor, one at a time."""
        split = self._splits[tensor]
        return (self._part(tensor, split, block, like) for block in self._blocks if split.size(block))

    def pieces_of(self, tensor: int, like: Tensor) -> Iterator[Piece]:
        """Only the pieces."""
        return (part.piece for part in self.parts_of(tensor, like))

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all processes that hold parts of these tensors: here there is but one."""
        return list(values)

    def _part(self, index: int, split: Split, block: int, like: Tensor) -> Part:
        return Part(index, split.size(block), split.piece(block, like))
