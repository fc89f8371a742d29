"""Progress of a comparison: what is being done, how much of it, of how much."""

from collections.abc import Callable

Meter = Callable[[str, int, int], None]


def silent(_what: str, _done: int, _of: int) -> None:
    """No progress."""
