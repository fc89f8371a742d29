"""`Custom`: your own blocks, as groups of parameter names or as orthonormal bases."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor

from ..errors import ConfigError
from .pieces import Rotated
from .protocol import Design, Shapes, Split, Window
from .whole import InOneBlock

TOLERANCE = 1e-5


@dataclass(frozen=True)
class Custom(Design):
    """`groups`: a list of name patterns per block (`[["encoder.*"], ["head.*"]]`).

    `bases`: per parameter one matrix per block, A_1 … A_k, whose columns together are an orthonormal basis of the
    parameter's last dimension. A block must not depend on the forget set or on the trained weights.
    """

    groups: Sequence[Sequence[str]] = ()
    bases: Mapping[str, Sequence[Tensor]] = field(default_factory=dict[str, Sequence[Tensor]])

    def __post_init__(self) -> None:
        if bool(self.groups) == bool(self.bases):
            raise ConfigError("Custom takes either groups of parameter names or bases; give one of them.")

    def describe(self) -> dict[str, Any]:
        """The groups, or the bases' fingerprints."""
        if self.groups:
            return {"kind": "Custom", "groups": [list(group) for group in self.groups]}
        return {
            "kind": "Custom",
            "bases": {name: [_fingerprint(a) for a in parts] for name, parts in self.bases.items()},
        }

    def count(self, shapes: Shapes) -> int:
        """The number of groups, or of matrices of the parameter that has most."""
        return len(self.groups) or max(len(parts) for parts in self.bases.values())

    def splits(self, shapes: Shapes) -> list[Split]:
        """By name or by basis; a parameter that nothing covers, or that two groups cover, is an error."""
        if self.groups:
            return [InOneBlock(self._group_of(name), shape.numel()) for name, shape in shapes.items()]
        if unknown := sorted(set(self.bases) - set(shapes)):
            raise ConfigError(f"Custom has a basis for {unknown[0]!r}, which is no trainable parameter of the model.")
        if missing := [name for name in shapes if name not in self.bases]:
            raise ConfigError(f"Custom has no basis for {missing[0]!r}; every trainable parameter needs one.")
        return [_Given(name, shape, [a.detach() for a in self.bases[name]]) for name, shape in shapes.items()]

    def _group_of(self, name: str) -> int:
        found = [i for i, group in enumerate(self.groups) if any(fnmatchcase(name, pattern) for pattern in group)]
        if len(found) != 1:
            problem = f"in groups {found}" if found else "in no group"
            raise ConfigError(f"parameter {name!r} is {problem} of Custom; it must be in exactly one.")
        return found[0]


class _Given:
    """Bases along the last dimension."""

    def __init__(self, name: str, shape: torch.Size, bases: Sequence[Tensor]) -> None:
        length = shape[-1] if shape else 1
        if any(a.dim() != 2 or len(a) != length for a in bases) or sum(a.shape[1] for a in bases) != length:
            raise ConfigError(
                f"the bases of {name!r} must be {length} × r_i matrices with Σ r_i = {length} (its last dimension); "
                f"got shapes {[tuple(a.shape) for a in bases]}."
            )
        together = torch.cat([a.double().cpu() for a in bases], dim=1)
        excess = together.T @ together - torch.eye(length, dtype=torch.float64)
        if not (error := _size(excess)) <= TOLERANCE:
            raise ConfigError(
                f"the bases of {name!r} are not orthonormal: ‖AᵀA − I‖ = {error:.2g}; "
                f"at most {TOLERANCE:g} is allowed. Orthogonalise them (torch.linalg.qr)."
            )
        self._bases, self._lines, self._elements = bases, shape.numel() // max(1, length), shape.numel()

    def size(self, block: int) -> int:
        """Lines times columns."""
        return self._lines * self._bases[block].shape[1] if block < len(self._bases) else 0

    def piece(self, block: int, like: Tensor, window: Window | None = None) -> Rotated:
        """The user's matrix."""
        return Rotated(self._bases[block].to(device=like.device, dtype=like.dtype).contiguous(), -1)

    def before(self, block: int, place: int) -> int | None:
        """Lines lie one after another."""
        if block >= len(self._bases):
            return 0
        lines, inside = divmod(place, max(1, len(self._bases[block])))
        return None if inside else lines * self._bases[block].shape[1]


def _size(matrix: Tensor) -> float:
    """Its largest singular value; what is not finite has none, and LAPACK says so in a different way on every machine."""
    if not matrix.numel():
        return 0.0
    return torch.linalg.matrix_norm(matrix, ord=2).item() if bool(matrix.isfinite().all()) else math.nan


def _fingerprint(matrix: Tensor) -> str:
    return hashlib.sha256(matrix.detach().double().cpu().contiguous().numpy().tobytes()).hexdigest()
