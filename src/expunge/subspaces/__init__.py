"""Orthogonal blocks of a model's parameters. One kind of block a file; docs/subspaces.md says which to choose."""

from typing import Any

from ..errors import ConfigError
from .custom import Custom
from .fast_rotation import FastRotation
from .layers import HeadBody, LayerCycle
from .permutation import Permutation
from .protocol import Design, Part, Partition, Piece, Split
from .random_rotation import RandomRotation
from .whole import Whole

DESIGNS: dict[str, type[Design]] = {
    design.__name__: design
    for design in (Whole, RandomRotation, FastRotation, Permutation, LayerCycle, HeadBody, Custom)
}


def from_description(description: dict[str, Any]) -> Design:
    """The design that `Design.describe` described (bases given as matrices are not stored, so they cannot come back)."""
    arguments = dict(description)
    kind = arguments.pop("kind", None)
    if not isinstance(kind, str) or kind not in DESIGNS or "bases" in arguments:
        raise ConfigError(f"blocks must be one of {', '.join(DESIGNS)} (without bases); got {description!r:.80}.")
    try:
        return DESIGNS[kind](**arguments)
    except TypeError as error:
        raise ConfigError(f"{kind} does not take {arguments!r:.80}.") from error


__all__ = [
    "DESIGNS",
    "Custom",
    "Design",
    "FastRotation",
    "HeadBody",
    "LayerCycle",
    "Part",
    "Partition",
    "Permutation",
    "Piece",
    "RandomRotation",
    "Split",
    "Whole",
    "from_description",
]
