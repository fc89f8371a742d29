"""Retained data, batch after batch without end, with a randomness of its own so that a run can be resumed."""

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Subset

from ..errors import ConfigError, DataError

Indices = Callable[[Any], Iterable[int] | Tensor]


class Batches:
    """An endless stream of batches on one device. It counts what it gives, and can skip to where it was."""

    def __init__(self, loader: Iterable[Any], device: torch.device, *, random: Tensor, guard: "Guard") -> None:
        if not isinstance(loader, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"the retained data must be an iterable of batches; got {type(loader).__name__}.")
        self._loader, self.device, self._random, self._guard = loader, device, random.clone(), guard
        self._iterator: Iterator[Any] | None = None
        self._passes = 0
        self.start, self.given, self.seen = random.clone(), 0, ""

    def next(self) -> Any:
        """The next batch; the loader starts again when it is through."""
        with self._own_randomness():
            batch = self._next()
        self._guard.check(batch)
        return to_device(batch, self.device)

    def rewind(self, start: Tensor, given: int, seen: str | None) -> None:
        """Stand where an earlier stream stood that began with this randomness and had given so many batches.

        What it has `seen` is compared where that is known.
        """
        self._iterator, self._random, self.start, self.given, self.seen = None, start.clone(), start.clone(), 0, ""
        self._passes = 0
        with self._own_randomness():
            while self.given < given:
                self._next()
        if seen is not None and self.seen != seen:
            raise ConfigError(
                "the checkpoint belongs to a run on other batches: the retained data changed, or the loader draws "
                "from other random numbers than torch's. Delete the checkpoint to begin again."
            )

    def _next(self) -> Any:
        for iterator in (self._iterator, None):
            self._iterator = self._again() if iterator is None else iterator
            for batch in self._iterator:
                self.given += 1
                self.seen = hashlib.sha256((self.seen + _glimpse(batch)).encode()).hexdigest()
                return batch
        raise DataError(
            "the retained data gave no batch. It may be empty, or an iterator that is used up: pass something that can "
            "be iterated again and again, such as a DataLoader."
        )

    def _again(self) -> Iterator[Any]:
        """A new pass. A sampler that shuffles by epoch (a DistributedSampler) is told which this is."""
        set_epoch = getattr(getattr(self._loader, "sampler", None), "set_epoch", None)
        if set_epoch is not None:
            set_epoch(self._passes)
        self._passes += 1
        return iter(self._loader)

    @contextmanager
    def _own_randomness(self):
        outside = torch.get_rng_state()
        torch.set_rng_state(self._random)
        try:
            yield
        finally:
            self._random = torch.get_rng_state()
            torch.set_rng_state(outside)


class Guard:
    """Sees to it that no forgotten sample is in the retained data."""

    def __init__(self, loader: Iterable[Any], forget: Sequence[int] | None, indices: Indices | None) -> None:
        self.forget = None if forget is None else _index_set(forget)
        self._indices = indices
        self.how = "declared by the caller; the forget set was not given"
        if self.forget is None:
            return
        if forget is not None and len(self.forget) != len(forget):
            raise DataError(f"forget names {len(forget) - len(self.forget)} indices twice; each may occur once.")
        if indices is not None:
            self.how = "every batch's indices compared with the forget set"
        elif (kept := _subset_indices(loader)) is not None:
            self._refuse(kept)
            _refuse_beyond(loader, self.forget)
            self.how = "the data loader's Subset compared with the forget set"
        else:
            raise ConfigError(
                "forget is given, but nothing says which samples a batch holds. Load from "
                "torch.utils.data.Subset(dataset, retained_indices), or pass indices=function of the batch."
            )

    def check(self, batch: Any) -> None:
        """Compare one batch, where the caller can tell its indices."""
        if self.forget is not None and self._indices is not None:
            found = self._indices(batch)
            values = found.reshape(-1).tolist() if isinstance(found, Tensor) else [int(index) for index in found]
            if not values or min(values) < 0:
                raise DataError(f"indices must tell the sample numbers of every batch, from 0; got {values!r:.60}.")
            self._refuse(values)

    def _refuse(self, indices: Iterable[int]) -> None:
        if self.forget and (found := self.forget.intersection(indices)):
            raise DataError(
                f"the retained data holds {len(found)} samples of the forget set (index {min(found)} is one). "
                "Leave them out of the loader."
            )


def to_device(batch: Any, device: torch.device) -> Any:
    """Every tensor of a batch (tuple, list, dict, nested) on the device."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return type(batch)({key: to_device(value, device) for key, value in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(to_device(value, device) for value in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(value, device) for value in batch)
    return batch


def _index_set(forget: Sequence[int]) -> set[int]:
    try:
        found = {operator.index(index) for index in forget}
    except TypeError as error:
        raise DataError(f"forget must be a list of sample indices; got {forget!r:.60}.") from error
    if found and not 0 <= min(found) <= max(found) < 2**63:
        raise DataError(f"forget must hold sample indices, from 0; got {min(found)} … {max(found)}.")
    return found


def _glimpse(batch: Any) -> str:
    """A little of every tensor in a batch: enough to tell another batch from this one."""
    if isinstance(batch, Tensor):
        return f"{tuple(batch.shape)} {batch.reshape(-1)[:256].tolist()}"
    if isinstance(batch, dict):
        return " ".join(map(_glimpse, batch.values()))
    return " ".join(map(_glimpse, batch)) if isinstance(batch, (list, tuple)) else type(batch).__name__


def _refuse_beyond(loader: Iterable[Any], forget: set[int]) -> None:
    """An index that no sample has belongs to other data, or is a mistake."""
    dataset = loader.dataset if isinstance(loader, DataLoader) else loader
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    if isinstance(dataset, Sized) and forget and max(forget) >= len(dataset):
        raise DataError(
            f"forget names index {max(forget)}, and the data set has {len(dataset)} samples, from 0. Check the list."
        )


def _subset_indices(loader: Iterable[Any]) -> list[int] | None:
    """The samples of the base data set that a loader of (nested) Subsets can give; none where that is not known."""
    dataset = loader.dataset if isinstance(loader, DataLoader) else loader
    kept: list[int] | None = None
    while isinstance(dataset, Subset):
        size = len(dataset.dataset)  # pyright: ignore[reportArgumentType]
        here = [int(index) + (size if index < 0 else 0) for index in dataset.indices]  # −1 is the last sample
        kept = here if kept is None else [here[index] for index in kept]
        dataset = dataset.dataset
    return kept
