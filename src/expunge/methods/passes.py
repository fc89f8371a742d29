"""A share of every pass over the data, for models on which a whole pass takes too long."""

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any


def share_of(source: Iterable[Any], share: float) -> Iterable[Any]:
    """The first `share` of the batches of every pass, at least one; where the source shuffles, others in each pass.

    Taken of D_f and D_r alike, it keeps their proportion, which is what a method with epochs lives on.
    """
    return source if share == 1.0 else _Part(source, share)


class _Part:
    def __init__(self, source: Iterable[Any], share: float) -> None:
        batches = len(source) if hasattr(source, "__len__") else sum(1 for _ in source)  # pyright: ignore[reportArgumentType]
        self._source, self._batches = source, math.ceil(share * batches)

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Any]:
        return islice(self._source, self._batches)
