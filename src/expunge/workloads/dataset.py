"""A whole data set as tensors: small enough to sit in memory, so that a batch is one indexing."""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import SupportsIndex

import torch
from torch import Tensor

from .. import weights
from ..errors import DataError


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test part of one data set, in the official order, so that an index means the same to everybody.

    Images stay uint8; `mean` and `std` (per channel, in the units of `inputs`) bring them to zero mean and unit variance.
    They are published constants. Computing them from the data would put the removed samples into every input.
    `groups` says whose record each training sample is, where that is known.
    """

    name: str
    inputs: Tensor
    labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor
    classes: int
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    groups: Tensor | None = None

    def __post_init__(self) -> None:
        for part, inputs, labels in self._parts():
            if len(inputs) == 0 or labels.shape != inputs.shape[:1]:
                raise DataError(
                    f"{self.name}: the {part} part must have one label for each sample, and one sample or more; got "
                    f"inputs {tuple(inputs.shape)} and labels {tuple(labels.shape)}."
                )
            if labels.dtype != torch.int64 or not 0 <= int(labels.min()) <= int(labels.max()) < self.classes:
                raise DataError(
                    f"{self.name}: {part} labels must be int64 in 0 … {self.classes - 1}; got {labels.dtype} from "
                    f"{labels.min()} to {labels.max()}."
                )
            if inputs.is_floating_point() and not bool(inputs.isfinite().all()):
                raise DataError(f"{self.name}: the {part} inputs hold NaN or infinity. Clean the data first.")
        self._check_shapes()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: SupportsIndex) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.labels[index]

    @cached_property
    def sha256(self) -> str:
        """Of the samples, their labels and their order; not of the name."""
        tensors = ("inputs", "labels", "test_inputs", "test_labels")
        return weights.digest({name: getattr(self, name) for name in tensors})

    def to(self, device: str | torch.device) -> "Dataset":
        """The same data set with all its tensors on one device."""
        moved = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: value.to(device) for name, value in moved.items() if isinstance(value, Tensor)})

    def _parts(self) -> tuple[tuple[str, Tensor, Tensor], ...]:
        return ("training", self.inputs, self.labels), ("test", self.test_inputs, self.test_labels)

    def _check_shapes(self) -> None:
        if self.inputs.shape[1:] != self.test_inputs.shape[1:] or self.inputs.dtype != self.test_inputs.dtype:
            raise DataError(
                f"{self.name}: training and test samples differ in shape or type: {tuple(self.inputs.shape[1:])} "
                f"{self.inputs.dtype}, {tuple(self.test_inputs.shape[1:])} {self.test_inputs.dtype}."
            )
        if self.groups is not None and self.groups.shape != self.labels.shape:
            raise DataError(
                f"{self.name}: groups must name one group for each of the {len(self)} training samples; "
                f"got shape {tuple(self.groups.shape)}."
            )
        if len(self.mean) != len(self.std) or not all(math.isfinite(s) and s > 0.0 for s in self.std):
            raise DataError(f"{self.name}: std must be positive, one for each mean; got {self.mean} and {self.std}.")
