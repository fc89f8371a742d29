"""Orthogonal blocks of a model's parameters. One kind of block a file; docs/subspaces.md says which to choose."""

from typing import Any

from ..errors import ConfigError
from .core import Core
from .custom import Custom
from .factor import Factor
from .fast_rotation import FastRotation
from .head import Head
from .keep import KeepSpace
from .layers import HeadBody, LayerCycle
from .permutation import Permutation
from .protocol import Design, Part, Partition, Piece, Split
from .random_rotation import RandomRotation
from .reference import Reference
from .whole import Whole

DESIGNS: dict[str, type[Design]] = {
    design.__name__: design
    for design in (Whole, RandomRotation, FastRotation, Permutation, LayerCycle, HeadBody, Custom)
}
KEEP_SPACES: dict[str, type[KeepSpace]] = {design.__name__: design for design in (Core, Factor, Head)}


def from_description(description: dict[str, Any]) -> Design:
    """The design that `Design.describe` described (bases given as matrices are not stored, so they cannot come back)."""
    arguments = dict(description)
    kind = arguments.pop("kind", None)
    if isinstance(kind, str) and kind in KEEP_SPACES:
        raise ConfigError(
            f"a description of {kind} holds its reference's fingerprint and not the reference. Give the design itself: "
            f"expunge.unlearn(..., design={kind}(...)), the same that the plan was made with."
        )
    if not isinstance(kind, str) or kind not in DESIGNS or "bases" in arguments:
        raise ConfigError(f"blocks must be one of {', '.join(DESIGNS)} (without bases); got {description!r:.80}.")
    if (layout := arguments.pop("layout", None)) not in (None, DESIGNS[kind].layout):
        raise ConfigError(
            f"{kind} was described by another version of Expunge, whose blocks were others (layout {layout!r:.20}, here "
            f"{DESIGNS[kind].layout}). Make the plan again, and measure gaps by block again."
        )
    try:
        return DESIGNS[kind](**arguments)
    except TypeError as error:
        raise ConfigError(f"{kind} does not take {arguments!r:.80}.") from error


__all__ = [
    "DESIGNS",
    "KEEP_SPACES",
    "Core",
    "Custom",
    "Design",
    "Factor",
    "FastRotation",
    "Head",
    "HeadBody",
    "KeepSpace",
    "LayerCycle",
    "Part",
    "Partition",
    "Permutation",
    "Piece",
    "RandomRotation",
    "Reference",
    "Split",
    "Whole",
    "from_description",
]
