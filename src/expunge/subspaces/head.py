"""`Head`: keep the last layer, reset the body to the reference. For public backbones no run is needed."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import ConfigError
from .keep import Frame, KeepSpace
from .layers import layer_of, layers
from .protocol import Partition, Shapes


@dataclass(frozen=True)
class Head(KeepSpace):
    """Keep the module named, with all its parameters."""

    head: str

    needs_bases = False

    def size(self, name: str, shape: torch.Size) -> int:
        """All or nothing."""
        return shape.numel() if layer_of(name) == self.head or name.startswith(f"{self.head}.") else 0

    def frame(self, name: str, update: Tensor) -> Frame:
        """All of it."""
        return Frame()

    def bind(self, shapes: Shapes, updates: Mapping[str, Tensor] | None = None) -> Partition:
        """As all keep-spaces; a head that is not there is an error."""
        if not any(self.size(name, shape) for name, shape in shapes.items()):
            raise ConfigError(
                f"the model has no {self.head!r} with parameters. Name one of {', '.join(layers(shapes))}."
            )
        return super().bind(shapes, updates)
