"""What a run costs at a proximity: one gap that may lie in the blocks as it likes, or one that is known for each."""

from collections.abc import Iterable

from .mechanism import Block
from .proximity import Proximity
from .split import mu


def cost(proximity: Proximity, blocks: Block | Iterable[Block]) -> float:
    """μ, rounded up: of the worst split, or of the known one."""
    return mu(proximity.gap, blocks) if proximity.gaps is None else mu(gaps=proximity.gaps, blocks=blocks)
