"""The coupling: two training runs that share everything but the samples that go.

Both runs walk the same positions 0 … n − 1 with the same seed. Where the base run meets a removed sample, the retained
run meets a retained one instead, so that minibatches keep their structure and order (docs/proximity.md).
"""

import hashlib
from collections.abc import Sequence, Sized
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..errors import DataError


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


def retained_stream(dataset: Sized, forget: Tensor, seed: int) -> Stream:
    """The data set with every removed sample replaced by a retained one, drawn with the pair's seed."""
    size, forget = len(dataset), checked(forget, len(dataset))
    kept = torch.ones(size, dtype=torch.bool)
    kept[forget] = False
    retained = kept.nonzero().view(-1)
    random = torch.Generator().manual_seed(seed)
    index_map = torch.arange(size)
    index_map[forget] = retained[torch.randint(len(retained), (len(forget),), generator=random)]
    return Stream(dataset, index_map)


def checked(forget: Tensor | Sequence[int], size: int) -> Tensor:
    """Sorted indices, each once, within the data set, and not all of it."""
    indices = torch.as_tensor(forget, dtype=torch.int64).sort().values
    if indices.numel() == 0:
        raise DataError("the deletion removes nothing; a proximity for it would mean nothing.")
    if indices[0] < 0 or indices[-1] >= size:
        raise DataError(f"forget indices must lie in 0 … {size - 1}; got {int(indices[0])} … {int(indices[-1])}.")
    if bool((indices[1:] == indices[:-1]).any()):
        raise DataError("forget names an index twice; each may occur once.")
    if len(indices) == size:
        raise DataError("the deletion removes every sample: nothing is retained.")
    return indices


def fingerprint(indices: Tensor) -> str:
    """SHA-256 of sorted indices, as the engine computes it."""
    return hashlib.sha256(indices.to(torch.int64).numpy().astype("<i8").tobytes()).hexdigest()
