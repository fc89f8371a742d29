"""The coupling: two training runs that share everything but the samples that go.

Both runs walk the same positions 0 … n − 1 with the same seed. Where the base run meets a removed sample, the retained
run meets a retained one instead, so that minibatches keep their structure and order (docs/calibration.md).
"""

import hashlib
from collections.abc import Sequence, Sized
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..errors import DataError

REPLACEMENT = "a removed sample's position holds a retained sample, drawn uniformly, anew for every position and pair"


class Deletion(Protocol):
    """Which samples a request removes. The same seed gives the same samples."""

    def forget(self, dataset: Any, seed: int) -> Tensor:
        """Their indices."""
        ...

    def describe(self) -> dict[str, Any]:
        """The setting, as plain JSON values."""
        ...


class Stream(Dataset[Any]):
    """A data set seen through an index map: position i holds sample `index_map[i]`."""

    def __init__(self, dataset: Any, index_map: Tensor) -> None:
        self.dataset, self.index_map = dataset, index_map

    def __len__(self) -> int:
        return len(self.index_map)

    def __getitem__(self, position: int) -> Any:
        return self.dataset[int(self.index_map[position])]


def base_stream(dataset: Sized) -> Stream:
    """The whole data set as it is."""
    return Stream(dataset, torch.arange(len(dataset)))


def retained(forget: Tensor | Sequence[int], size: int) -> Tensor:
    """The indices of all other samples: what the clean phase of a run has to go by."""
    kept = torch.ones(size, dtype=torch.bool)
    kept[checked(forget, size)] = False
    return kept.nonzero().view(-1)


def retained_stream(dataset: Sized, forget: Tensor | Sequence[int], seed: int) -> Stream:
    """The data set with every removed sample replaced by a retained one, drawn with this seed."""
    size, forget = len(dataset), checked(forget, len(dataset))
    stays = retained(forget, size)
    random = torch.Generator().manual_seed(seed)
    index_map = torch.arange(size)
    index_map[forget] = stays[torch.randint(len(stays), (len(forget),), generator=random)]
    return Stream(dataset, index_map)


def chance(seed: int, pair: int, purpose: str) -> int:
    """A seed of 31 bits for one use in one pair, unlike any that a person would give.

    With plain 0, 1, 2, … a user's deletion could draw the very permutation that their training shuffles with, and a pair
    could be the request itself.
    """
    text = f"expunge/calibration/{purpose}/{seed}/{pair}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "little") >> 1


def checked(forget: Tensor | Sequence[int], size: int) -> Tensor:
    """Sorted indices, each once, within the data set, and not all of it."""
    given = torch.as_tensor(forget)
    if given.numel() == 0:
        raise DataError("the deletion removes nothing; a proximity for it would mean nothing.")
    if given.dim() != 1 or given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
        raise DataError(
            f"forget must be a list of whole sample indices; got {given.dtype} of shape {tuple(given.shape)}. "
            "Of a mask, give mask.nonzero().reshape(-1)."
        )
    indices = given.to("cpu", torch.int64).sort().values
    if indices[0] < 0 or indices[-1] >= size:
        raise DataError(f"forget indices must lie in 0 … {size - 1}; got {int(indices[0])} … {int(indices[-1])}.")
    if bool((indices[1:] == indices[:-1]).any()):
        twice = int(indices[1:][indices[1:] == indices[:-1]][0])
        raise DataError(f"forget names index {twice} twice; each may occur once.")
    if len(indices) == size:
        raise DataError(f"the deletion removes all {size} samples: nothing is retained.")
    return indices


def fingerprint(indices: Tensor) -> str:
    """SHA-256 of sorted indices, as the engine computes it."""
    return hashlib.sha256(indices.to(torch.int64).numpy().astype("<i8").tobytes()).hexdigest()
