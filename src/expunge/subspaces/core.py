"""`Core`: per weight matrix the small square between its leading directions. Noise follows the dimension, so keep little."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import torch
from torch import Tensor

from ..accounting.checks import whole
from ..errors import ConfigError
from .keep import Frame, KeepSpace, leading, matrix


@dataclass(frozen=True)
class Core(KeepSpace):
    """Keep U C Vᵀ of every matrix: U and V its `rank` leading left and right directions of the run on retained data.

    rank      a whole number, or one per name pattern: {"fc5.*": 10, "*": 20}; the first that fits counts, 0 keeps nothing
    vectors   "reset" or "keep" biases, norms and all else that is no matrix
    """

    rank: int | Mapping[str, int]
    vectors: Literal["reset", "keep"] = "reset"

    def __post_init__(self) -> None:
        super().__post_init__()
        for rank in self.rank.values() if isinstance(self.rank, Mapping) else [self.rank]:
            whole("rank", rank, least=0)
        if self.vectors not in ("reset", "keep"):
            raise ConfigError(f"vectors must be 'reset' or 'keep'; got {self.vectors!r}.")

    def size(self, name: str, shape: torch.Size) -> int:
        """Rank times rank, or less where the matrix is smaller."""
        if len(shape) < 2:
            return shape.numel() if self.vectors == "keep" else 0
        return min(self._rank(name), *matrix(shape)) ** 2

    def frame(self, name: str, update: Tensor) -> Frame:
        """Leading directions of the update on both sides."""
        rank = min(self._rank(name), *matrix(update.shape))
        return Frame() if update.dim() < 2 else leading(update, rank, rank)

    def _rank(self, name: str) -> int:
        if not isinstance(self.rank, Mapping):
            return self.rank
        found = [rank for pattern, rank in self.rank.items() if fnmatchcase(name, pattern)]
        if not found:
            raise ConfigError(f"no rank fits {name!r}; the patterns are {', '.join(self.rank)}. Add one for all: '*'.")
        return found[0]
