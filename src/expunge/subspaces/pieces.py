"""The kinds of piece that designs are made of: entire tensors, chosen coordinates, rotated directions, framed matrices."""

from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor


class Entire:
    """The whole tensor: A = I."""

    def project(self, tensor: Tensor) -> Tensor:
        """All coordinates."""
        return tensor.reshape(-1)

    def add_(self, tensor: Tensor, coordinates: Tensor, first: int = 0) -> None:
        """Plain addition."""
        if coordinates.numel() == tensor.numel():
            tensor.add_(coordinates.view(tensor.shape))
        else:
            tensor.view(-1)[first : first + len(coordinates)].add_(coordinates)

    def unit(self, tensor: Tensor) -> int | None:
        """Each alone."""
        return 1 if tensor.is_contiguous() else None


class Coordinates:
    """Chosen coordinates of the flattened tensor; which, is found out when they are first needed."""

    def __init__(self, choose: Callable[[], Tensor]) -> None:
        self._choose = choose

    @cached_property
    def _index(self) -> Tensor:
        return self._choose()

    def project(self, tensor: Tensor) -> Tensor:
        """Gather."""
        return tensor.reshape(-1).index_select(0, self._index)

    def add_(self, tensor: Tensor, coordinates: Tensor, first: int = 0) -> None:
        """Scatter-add; no coordinate is named twice."""
        if tensor.is_contiguous():
            tensor.view(-1).index_add_(0, self._index[first : first + len(coordinates)], coordinates)
        else:
            scattered = torch.zeros(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
            tensor.add_(scattered.index_add_(0, self._index, coordinates).view(tensor.shape))

    def unit(self, tensor: Tensor) -> int | None:
        """Each alone."""
        return 1 if tensor.is_contiguous() else None


class Rotated:
    """Directions along one dimension: the same n × r orthonormal basis for every line of the tensor along it."""

    def __init__(self, basis: Tensor, dim: int) -> None:
        self._basis, self._dim = basis, dim

    def project(self, tensor: Tensor) -> Tensor:
        """Every line times the basis."""
        return (self._lines(tensor).reshape(-1, len(self._basis)) @ self._basis).view(-1)

    def add_(self, tensor: Tensor, coordinates: Tensor, first: int = 0) -> None:
        """Coordinates times the transposed basis, line by line."""
        lines, rotated = self._lines(tensor), coordinates.view(-1, self._basis.shape[1])
        if (table := self._table(lines)) is not None:  # the product is added where it belongs
            line = first // self._basis.shape[1]
            table[line : line + len(rotated)].addmm_(rotated, self._basis.T)
        else:
            lines.add_((rotated @ self._basis.T).view(lines.shape))

    def unit(self, tensor: Tensor) -> int | None:
        """A line's."""
        return None if self._table(self._lines(tensor)) is None else self._basis.shape[1]

    def _table(self, lines: Tensor) -> Tensor | None:
        """All lines below one another, where that is a view."""
        try:
            return lines.view(-1, len(self._basis))
        except RuntimeError:  # torch's only answer to whether it is one
            return None

    def _lines(self, tensor: Tensor) -> Tensor:
        return tensor.reshape(1) if tensor.dim() == 0 else tensor.movedim(self._dim, -1)


class Chunked:
    """The flattened tensor in chunks of one length, rotated alike, and what is left over by a rotation of its own."""

    def __init__(self, basis: Tensor, rest: Tensor) -> None:
        self._parts = [Rotated(part, -1) if part.numel() else None for part in (basis, rest)]
        (self._length, self._width), self._ending = basis.shape, rest.shape[1]

    def project(self, tensor: Tensor) -> Tensor:
        """The chunks' coordinates, then the rest's."""
        parts = zip(self._parts, self._views(tensor.reshape(-1)), strict=True)
        found = [part.project(view) for part, view in parts if part is not None and view.numel()]
        return found[0] if len(found) == 1 else torch.cat(found)

    def add_(self, tensor: Tensor, coordinates: Tensor, first: int = 0) -> None:
        """As `project`, the other way."""
        flat = tensor.view(-1) if tensor.is_contiguous() else torch.zeros_like(tensor).reshape(-1)
        chunks, rest = self._views(flat)
        here = max(0, min(len(coordinates), len(chunks) * self._width - first))
        shares = [(chunks, coordinates[:here], first), (rest, coordinates[here:], 0)]
        for part, (view, values, at) in zip(self._parts, shares, strict=True):
            if part is not None and values.numel():
                part.add_(view, values, at)
        if not tensor.is_contiguous():
            tensor.add_(flat.view(tensor.shape))

    def unit(self, tensor: Tensor) -> int | None:
        """A chunk's; the rest, no longer than that, comes last and is never divided."""
        return self._width if tensor.is_contiguous() and 0 < self._width >= self._ending else None

    def _views(self, flat: Tensor) -> Sequence[Tensor]:
        whole = flat.numel() // self._length * self._length
        return flat[:whole].view(-1, self._length), flat[whole:].view(1, -1)


class Framed:
    """A tensor seen as a matrix, between orthonormal columns: left · C · rightᵀ. A side that is none is all of that side."""

    def __init__(self, left: Tensor | None, right: Tensor | None) -> None:
        self._left, self._right = left, right

    def project(self, tensor: Tensor) -> Tensor:
        """C = leftᵀ · matrix · right."""
        table = tensor.reshape(tensor.shape[0], -1)
        table = table if self._left is None else self._left.T @ table
        return (table if self._right is None else table @ self._right).reshape(-1)

    def add_(self, tensor: Tensor, coordinates: Tensor, first: int = 0) -> None:
        """As `project`, the other way."""
        width = tensor[0].numel() if self._right is None else self._right.shape[1]
        table = coordinates.view(-1, width)
        table = table if self._left is None else self._left @ table
        tensor.add_((table if self._right is None else table @ self._right.T).view(tensor.shape))

    def unit(self, tensor: Tensor) -> int | None:
        """All: each moves the whole matrix."""
        return None
