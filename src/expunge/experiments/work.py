"""Pieces of work that do not wait for each other: here, in several processes, or on a Ray cluster."""

from collections.abc import Callable, Sequence
from typing import Any

from ..calibration.pool import run_all
from .meter import Meter


def run_each(
    work: Callable[..., dict[str, Any]],
    arguments: Sequence[tuple[Any, ...]],
    what: str,
    *,
    workers: int,
    ray: str | None,
    progress: Meter,
) -> list[dict[str, Any]]:
    """The results, as they come; `progress(what, done, of)`."""
    found: list[dict[str, Any]] = []
    progress(what, 0, len(arguments))
    for result in run_all(work, arguments, workers=workers, ray=ray):
        found.append(result)
        progress(what, len(found), len(arguments))
    return found
