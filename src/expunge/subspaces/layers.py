"""`LayerCycle` and `HeadBody`: blocks made of real layers. No projection cost; the model's structure decides."""

from dataclasses import dataclass

from ..accounting.checks import whole
from ..errors import ConfigError
from .protocol import Design, Shapes, Split
from .whole import InOneBlock


@dataclass(frozen=True)
class LayerCycle(Design):
    """Layer ℓ in block ℓ mod k. A layer is a module that holds parameters of its own; none is empty while k ≤ layers."""

    k: int

    def __post_init__(self) -> None:
        whole("k", self.k)

    def count(self, shapes: Shapes) -> int:
        """k, or the number of layers where there are fewer."""
        return min(self.k, len(layers(shapes)))

    def splits(self, shapes: Shapes) -> list[Split]:
        """A layer's tensors stay together."""
        block = {layer: i % self.k for i, layer in enumerate(layers(shapes))}
        return [InOneBlock(block.get(layer_of(name), 0), shape.numel()) for name, shape in shapes.items()]


@dataclass(frozen=True)
class HeadBody(Design):
    """Block 0: the body. Block 1: the head, the last layer that holds parameters (or the module named)."""

    head: str | None = None

    def count(self, shapes: Shapes) -> int:
        """Two."""
        return 2

    def splits(self, shapes: Shapes) -> list[Split]:
        """By the layer's name."""
        head = self.head if self.head is not None else layers(shapes)[-1]
        inside = [layer_of(name) == head or name.startswith(f"{head}.") for name in shapes]
        if all(inside) or not any(inside):
            raise ConfigError(
                f"HeadBody needs a head and a body; {head!r} holds {'all' if all(inside) else 'none'} of the "
                f"parameters. Name the head: one of {', '.join(layers(shapes))}; or use Whole()."
            )
        return [InOneBlock(int(at), shape.numel()) for at, shape in zip(inside, shapes.values(), strict=True)]


def layers(shapes: Shapes) -> list[str]:
    """The modules that hold parameters of their own, in order."""
    return list(dict.fromkeys(layer_of(name) for name, shape in shapes.items() if shape.numel())) or [""]


def layer_of(name: str) -> str:
    """The module a parameter belongs to; the parts of a parametrized weight belong to the layer they make up."""
    return name.split(".parametrizations.")[0] if ".parametrizations." in name else name.rpartition(".")[0]
