"""`Whole`: one block, the plain noisy fine-tuning that the others are measured against."""

from dataclasses import dataclass

from .pieces import Entire
from .protocol import Design, Shapes, Split, Tensor, Window


@dataclass(frozen=True)
class InOneBlock:
    """The split of a tensor that lies in one block with all its coordinates."""

    block: int
    elements: int

    def size(self, block: int) -> int:
        """All or nothing."""
        return self.elements if block == self.block else 0

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Entire:
        """All that is there."""
        return Entire()

    def before(self, block: int, place: int) -> int:
        """Coordinates keep their numbers."""
        return place if block == self.block else 0


@dataclass(frozen=True)
class Whole(Design):
    """All parameters in one block."""

    def count(self, shapes: Shapes) -> int:
        """One."""
        return 1

    def splits(self, shapes: Shapes) -> list[Split]:
        """Every tensor in block 0."""
        return [InOneBlock(0, shape.numel()) for shape in shapes.values()]
