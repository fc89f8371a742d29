"""A deletion carried out on one data set: what goes, what stays, and the hashes of both."""

from collections.abc import Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import DataError
from .deletion import Deletion, index_sha256


@dataclass(frozen=True, eq=False)
class Split:
    """Every one of `size` samples is either forgotten or retained. Both lists are sorted, and neither is empty."""

    forget: Tensor
    retain: Tensor
    size: int

    def __post_init__(self) -> None:
        for name, indices in (("forget", self.forget), ("retain", self.retain)):
            _check(name, indices, self.size)
        both = torch.isin(self.forget, self.retain, assume_unique=True)
        if bool(both.any()):
            raise DataError(
                f"forget and retain overlap in {int(both.sum())} samples (index {int(self.forget[both][0])} is one). A "
                "sample is in one of them."
            )
        if (missing := self.size - len(self.forget) - len(self.retain)) > 0:
            raise DataError(
                f"{missing} of {self.size} samples are neither forgotten nor retained. Name each in one of them."
            )

    @cached_property
    def forget_sha256(self) -> str:
        """As in the certificate."""
        return index_sha256(self.forget)

    @cached_property
    def retain_sha256(self) -> str:
        """Of the retained indices."""
        return index_sha256(self.retain)

    def describe(self) -> dict[str, Any]:
        """Plain values: counts and hashes."""
        return {
            "size": self.size,
            "forget": {"count": len(self.forget), "sha256": self.forget_sha256},
            "retain": {"count": len(self.retain), "sha256": self.retain_sha256},
        }


def split(dataset: Sized, deletion: Deletion, seed: int) -> Split:
    """Which samples of this data set go and which stay, for one seed."""
    forget = deletion.forget(dataset, seed)
    _check("forget", forget, len(dataset))  # a deletion may be the user's own
    stays = torch.ones(len(dataset), dtype=torch.bool)
    stays[forget] = False
    return Split(forget, stays.nonzero().reshape(-1), len(dataset))


def _check(name: str, indices: Tensor, size: int) -> None:
    if indices.dtype != torch.int64 or indices.dim() != 1:
        raise DataError(f"{name} must be a list of int64 indices; got {indices.dtype} of shape {tuple(indices.shape)}.")
    if len(indices) == 0:
        raise DataError(f"the {name} set is empty: {size} samples, and all are on the other side. Check the deletion.")
    if not 0 <= int(indices.min()) <= int(indices.max()) < size:
        wrong = indices[(indices < 0) | (indices >= size)][0]
        raise DataError(f"{name} index {int(wrong)} is out of range: there are {size} samples, from 0.")
    steps = indices.diff()
    if not bool((steps > 0).all()):
        what = "occurs twice" if bool((indices.sort().values.diff() == 0).any()) else "is out of order"
        raise DataError(
            f"{name} index {int(indices[1:][steps <= 0][0])} {what}. Give each index once, in increasing order."
        )
