"""Who asks to be forgotten: a random fraction, a class, a list of indices, one user's records.

A deletion setting is a description. `forget(dataset, seed)` says which samples it means: sorted, each once. It works on any
data set with a length, and with labels or groups where it asks for them. Calibration draws a new set with each seed where
the setting is random; the others mean the same samples every time.
"""

import hashlib
import re
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from ..errors import ConfigError, DataError
from .seeds import generator


class Deletion(Protocol):
    """What every setting can do."""

    def forget(self, dataset: Sized, seed: int) -> Tensor:
        """The indices (int64, sorted, unique, at least one) of the samples that go."""
        ...

    def describe(self) -> dict[str, Any]:
        """Plain values for the proximity file."""
        ...


@dataclass(frozen=True)
class RandomDeletion:
    """A random fraction of all samples, or a whole number of them (1, 2, …); others with each seed."""

    fraction: float

    def __post_init__(self) -> None:
        if not self._counted and (not isinstance(self.fraction, (int, float)) or not 0 < self.fraction < 1):
            raise ConfigError(
                f"fraction must be a number above 0 and below 1, or a whole number of samples; got {self.fraction!r}."
            )

    @property
    def _counted(self) -> bool:
        return type(self.fraction) is int and self.fraction >= 1

    def forget(self, dataset: Sized, seed: int) -> Tensor:
        """`fraction` of the samples, rounded to a whole number."""
        count = self.fraction if self._counted else round(self.fraction * len(dataset))
        if count > len(dataset):
            raise DataError(f"the deletion asks for {count} of {len(dataset)} samples. Ask for fewer.")
        chosen = torch.randperm(len(dataset), generator=generator(seed, "deletion"))[: int(count)]
        return _found(chosen, f"{self.fraction:g} of {len(dataset)} samples")

    def describe(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": "random", "count" if self._counted else "fraction": self.fraction}


@dataclass(frozen=True)
class ClassDeletion:
    """Every sample with this label."""

    label: int

    def forget(self, dataset: Sized, seed: int) -> Tensor:
        """All of the class, whatever the seed."""
        labels = _column(dataset, ("labels", "targets"), "a class")
        return _found(_equal(labels, self.label), f"label {self.label}")

    def describe(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": "class", "label": self.label}


@dataclass(frozen=True)
class IndexDeletion:
    """Exactly these samples."""

    indices: tuple[int, ...]

    def __init__(self, indices: Sequence[int] | Tensor) -> None:
        values = tuple(indices.tolist() if isinstance(indices, Tensor) else indices)
        if not values or not all(type(index) is int and index >= 0 for index in values):
            wrong = next((index for index in values if type(index) is not int or index < 0), "none at all")
            raise DataError(f"forget indices must be whole numbers, 0 or more, and at least one; got {wrong!r}.")
        if len(set(values)) < len(values):
            twice = next(
                index for index, after in zip(sorted(values), sorted(values)[1:], strict=False) if index == after
            )
            raise DataError(f"index {twice} is in the forget list twice. Each may occur once.")
        object.__setattr__(self, "indices", tuple(sorted(values)))

    @classmethod
    def from_file(cls, path: str | Path) -> "IndexDeletion":
        """Whole numbers separated by commas, blanks or line ends."""
        try:
            words = re.split(r"[,\s]+", Path(path).read_text(encoding="utf-8").strip())
            return cls([int(word) for word in words if word])
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
        except ValueError as error:
            raise DataError(f"{path} must hold whole numbers (sample indices), and nothing else: {error}.") from error

    def forget(self, dataset: Sized, seed: int) -> Tensor:
        """The list, if the data set has all of it."""
        if self.indices[-1] >= len(dataset):
            raise DataError(
                f"forget index {self.indices[-1]} is out of range: there are {len(dataset)} samples, from 0."
            )
        return torch.tensor(self.indices)

    def describe(self) -> dict[str, Any]:
        """Plain values: how many, and their hash."""
        return {"kind": "indices", "count": len(self.indices), "sha256": index_sha256(torch.tensor(self.indices))}


@dataclass(frozen=True)
class GroupDeletion:
    """All records of one group, such as a user."""

    group: int | str

    def forget(self, dataset: Sized, seed: int) -> Tensor:
        """All of the group, whatever the seed."""
        groups = _column(dataset, ("groups",), "a group")
        return _found(_equal(groups, self.group), f"group {self.group!r}")

    def describe(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": "group", "group": self.group}


def index_sha256(indices: Tensor) -> str:
    """SHA-256 of the sorted indices as little-endian int64: the forget set's hash in a certificate."""
    return hashlib.sha256(indices.sort().values.cpu().numpy().astype("<i8").tobytes()).hexdigest()


def _column(dataset: Sized, names: tuple[str, ...], purpose: str) -> Any:
    for name in names:
        column = getattr(dataset, name, None)
        if column is not None:
            if len(column) != len(dataset):
                raise DataError(
                    f"dataset.{name} has {len(column)} entries for {len(dataset)} samples; expected one each."
                )
            return column
    raise ConfigError(
        f"to delete {purpose} the data set needs `{'` or `'.join(names)}`, one entry for each sample; "
        f"{type(dataset).__name__} has none. Set it (dataset.{names[0]} = …), or name the samples: a file of indices, "
        "IndexDeletion in Python."
    )


def _equal(column: Any, value: int | str) -> Tensor:
    if isinstance(column, Tensor):
        return torch.empty(0) if isinstance(value, str) else (column.cpu() == value).nonzero().reshape(-1)
    return torch.tensor([index for index, entry in enumerate(column) if entry == value], dtype=torch.int64)


def _found(indices: Tensor, what: str) -> Tensor:
    if len(indices) == 0:
        raise DataError(f"the deletion removes nothing: {what} is no sample at all. Check the setting.")
    return indices.sort().values
