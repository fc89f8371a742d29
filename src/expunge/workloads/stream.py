"""The samples that a training run sees, slot by slot: a data set through an index map.

A run is written for slots, not for samples: order and augmentation belong to the slot. The base run has slot i show sample
i; the run without the removed data keeps every slot and shows a retained sample in those of the removed ones. That is the
coupling of the calibration.
"""

import hashlib
from functools import cached_property
from typing import SupportsIndex

import torch
from torch import Tensor

from ..errors import DataError
from .dataset import Dataset


class Stream:
    """Slots 0 … n − 1, and the sample in each. Without an index map: the data set as it is."""

    def __init__(self, dataset: Dataset, index_map: Tensor | None = None) -> None:
        indices = torch.arange(len(dataset)) if index_map is None else index_map.detach().cpu()
        if indices.dtype != torch.int64 or indices.dim() != 1 or len(indices) == 0:
            raise DataError(
                f"index_map must be a list of int64 sample indices, one or more; got {indices.dtype} of shape "
                f"{tuple(indices.shape)}."
            )
        if not 0 <= int(indices.min()) <= int(indices.max()) < len(dataset):
            wrong = indices[(indices < 0) | (indices >= len(dataset))][0]
            raise DataError(f"index_map names sample {int(wrong)}; there are {len(dataset)}, from 0.")
        self.dataset, self.index_map = dataset, indices

    def __len__(self) -> int:
        return len(self.index_map)

    def __getitem__(self, slot: SupportsIndex) -> tuple[Tensor, Tensor]:
        sample = self.index_map[slot]
        return self.dataset.inputs[sample], self.dataset.labels[sample]

    def batch(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and labels of these slots, on the data set's device."""
        samples = self.index_map[slots].to(self.dataset.labels.device)
        return self.dataset.inputs[samples], self.dataset.labels[samples]

    @cached_property
    def sha256(self) -> str:
        """Of the data set and the map."""
        return hashlib.sha256(self.dataset.sha256.encode() + self.index_map.numpy().astype("<i8").tobytes()).hexdigest()
