"""`Factor`: LoRA-style. One side of every matrix is fixed, the other is kept whole."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..accounting.checks import whole
from ..errors import ConfigError
from .keep import Frame, KeepSpace, leading, matrix


@dataclass(frozen=True)
class Factor(KeepSpace):
    """Keep B Vᵀ (side "right") or U B (side "left"): a fixed side of `rank` leading directions of the run, any B."""

    rank: int
    side: Literal["left", "right"] = "right"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("rank", self.rank)
        if self.side not in ("left", "right"):
            raise ConfigError(f"side must be 'left' or 'right'; got {self.side!r}.")

    def size(self, name: str, shape: torch.Size) -> int:
        """Rank times the length of the free side; vectors keep nothing."""
        if len(shape) < 2:
            return 0
        rows, columns = matrix(shape)
        return min(self.rank, rows, columns) * (columns if self.side == "left" else rows)

    def frame(self, name: str, update: Tensor) -> Frame:
        """The fixed side."""
        rank = min(self.rank, *matrix(update.shape))
        found = leading(update, rank, rank)
        return Frame(left=found.left) if self.side == "left" else Frame(right=found.right)
