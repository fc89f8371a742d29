"""Runs that add up, each way of adding named for what it is. (Steps and blocks of one run: `split.mu`.)"""

import math
from collections.abc import Iterable

from ..errors import ConfigError
from .checks import number
from .rounding import up


def several_looks(mus: Iterable[float]) -> float:
    """Runs of the *same* request, all of them looked at (to choose one, say): √Σμ²."""
    values = _checked(mus)
    return up(math.hypot(*values), len(values))


def successive_requests(mus: Iterable[float]) -> float:
    """Requests one after another, each on the last one's model: hops to the reference add linearly, Σμ.

    Each μ after the first must rest on the proximity of the whole pipeline before it: training *and* earlier
    unlearning.
    """
    values = _checked(mus)
    return up(math.fsum(values), len(values))


def _checked(mus: Iterable[float]) -> list[float]:
    values = [number(f"mus[{i}]", value, least=0.0) for i, value in enumerate(mus)]
    if not values:
        raise ConfigError("mus must have at least one run; got none.")
    return values
