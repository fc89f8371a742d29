"""Keep-spaces: a small part of the space is kept and noised, the rest is reset to what never saw the removed data.

A keep-space says for every tensor how many coordinates it keeps, and by which frame: seen as a matrix, a tensor keeps
left · C · rightᵀ. A frame may follow a run on retained data from the public reference; the engine makes that run itself.
The proof stands in docs/mathematics.md, "Reset blocks".
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from ..accounting.checks import whole
from ..errors import ConfigError
from .layers import layer_of
from .pieces import Entire, Framed
from .protocol import MOST_BLOCKS, Design, Partition, Piece, Shapes, Split, Window
from .reference import Reference


@runtime_checkable
class Recipe(Protocol):
    """The run that the frames follow (an `expunge.FineTune`)."""

    @property
    def steps(self) -> int:
        """How many."""
        ...

    def describe(self) -> dict[str, Any]:
        """As plain JSON values."""
        ...


class Frame(NamedTuple):
    """Orthonormal columns on both sides of a matrix; none: all of that side."""

    left: Tensor | None = None
    right: Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class KeepSpace(Design):
    """What all keep-spaces share.

    reference   what never saw the removed data
    bases       the run on retained data from the reference that the frames follow, for the keep-spaces that need one
    rest        what the reset part becomes: "reference", or where the "run" of the bases ended
    k           blocks inside the keep-space: layer ℓ in block ℓ mod k, of the layers that keep something
    """

    reference: Reference
    bases: Recipe | None = None
    rest: Literal["reference", "run"] = "reference"
    k: int = 1

    needs_bases = True

    def __post_init__(self) -> None:
        whole("k", self.k, most=MOST_BLOCKS)
        if not isinstance(self.reference, Reference):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"reference must be an expunge.Reference; got {self.reference!r:.60}.")
        if self.rest not in ("reference", "run"):
            raise ConfigError(f"rest must be 'reference' or 'run'; got {self.rest!r}.")
        if self.bases is not None and not isinstance(self.bases, Recipe):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(
                f"bases must be a run on retained data, such as expunge.FineTune(steps=300); got {self.bases!r:.60}. "
                "Bases of another run are not taken: the engine makes it itself, from the reference."
            )
        if self.bases is None and (self.needs_bases or self.rest == "run"):
            raise ConfigError(
                f"{type(self).__name__} needs a run on retained data: bases=expunge.FineTune(steps=…, lr=…)."
            )

    @abstractmethod
    def size(self, name: str, shape: torch.Size) -> int:
        """How many coordinates of a tensor are kept."""

    @abstractmethod
    def frame(self, name: str, update: Tensor) -> Frame:
        """The frame of a tensor that keeps something, from how far the run moved it (zeros without a run)."""

    def describe(self) -> dict[str, Any]:
        """The kind, its parameters, the reference's and the run's description."""
        own = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}
        bases = None if self.bases is None else self.bases.describe()
        return {"kind": type(self).__name__, **own, "reference": self.reference.describe(), "bases": bases}

    def count(self, shapes: Shapes) -> int:
        """k, or the number of layers that keep something where there are fewer."""
        return max(1, min(self.k, len(self._layers(shapes))))

    def splits(self, shapes: Shapes) -> list[Split]:
        """Sizes alone: enough to plan."""
        return self._held(shapes, None)

    def bind(self, shapes: Shapes, updates: Mapping[str, Tensor] | None = None) -> Partition:
        """The kept blocks; with the run's updates they can be moved too."""
        blocks = self.count(shapes)
        return Partition(shapes, self._held(shapes, updates), blocks, partial=True)

    def _layers(self, shapes: Shapes) -> list[str]:
        return list(dict.fromkeys(layer_of(name) for name, shape in shapes.items() if self.size(name, shape)))

    def _held(self, shapes: Shapes, updates: Mapping[str, Tensor] | None) -> list[Split]:
        block = {layer: i % self.k for i, layer in enumerate(self._layers(shapes))}
        splits = list[Split]()
        for name, shape in shapes.items():
            size = self.size(name, shape)
            frame = self.frame(name, updates[name]) if updates is not None and size else None
            splits.append(_Held(block.get(layer_of(name), 0), size, frame))
        return splits


def _plain(value: Any) -> Any:
    """Patterns keep their order: the first that fits counts."""
    return [list(pair) for pair in value.items()] if isinstance(value, Mapping) else value


class _Held:
    """The kept part of one tensor, in one block."""

    def __init__(self, block: int, size: int, frame: Frame | None) -> None:
        self._block, self._size, self._frame = block, size, frame

    def size(self, block: int) -> int:
        """All of it, or nothing."""
        return self._size if block == self._block else 0

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Piece:
        """The frame, beside the tensor."""
        if self._frame is None:
            raise ConfigError(
                "a keep-space has no bases before its run; expunge.unlearn and expunge.calibrate make it."
            )
        left, right = (side if side is None else side.to(like) for side in self._frame)
        return Entire() if left is None and right is None else Framed(left, right)

    def before(self, block: int, place: int) -> int | None:
        """A frame is that of a whole tensor: nowhere can it be cut."""
        return None


def matrix(shape: torch.Size) -> tuple[int, int]:
    """Rows and columns of a tensor seen as a matrix: outputs by all inputs (convolutions, attention, embeddings)."""
    return (shape[0], shape[1:].numel()) if len(shape) > 1 else (shape.numel(), 1)


@torch.no_grad()
def leading(update: Tensor, left: int, right: int) -> Frame:
    """Orthonormal bases of the leading left and right singular directions, however small the update's rank is."""
    table = update.detach().double().reshape(matrix(update.shape))
    tall = table.shape[0] > table.shape[1]
    table = table.T if tall else table
    near, far = (right, left) if tall else (left, right)
    most = max(near, min(far, len(table)))
    inner = torch.linalg.eigh(table @ table.T)[1].flip(1)[:, :most]
    outer = torch.linalg.qr(table.T @ inner)[0]
    if far > outer.shape[1]:
        raise ConfigError(f"a {tuple(update.shape)} tensor has no {far} leading directions.")
    near_frame, far_frame = inner[:, :near].float(), outer[:, :far].float()
    return Frame(far_frame, near_frame) if tall else Frame(near_frame, far_frame)
