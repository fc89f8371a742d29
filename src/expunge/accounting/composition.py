"""Runs that add up, each way of adding named for what it is. (Steps and blocks of one run: `split.mu`.)"""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

from ..errors import ConfigError
from .checks import number, whole
from .rounding import up


def several_looks(mus: Iterable[float]) -> float:
    """Runs of the *same* request, all of them looked at (to choose one, say): √Σμ²."""
    values = _checked(mus)
    return up(math.hypot(*values), len(values))


def repeated_looks(mu: float, looks: int) -> float:
    """The same run of one request so many times: √n μ."""
    return up(number("mu", mu, least=0.0) * math.sqrt(whole("looks", looks)), 2) if looks > 1 else mu


def successive_requests(mus: Iterable[float]) -> float:
    """Requests one after another, each on the last one's model: hops to the reference add linearly, Σμ.

    Each μ after the first must rest on the proximity of the whole pipeline before it: training *and* earlier
    unlearning.
    """
    values = _checked(mus)
    return up(math.fsum(values), len(values))


def successive_failure(mus: Sequence[float], failures: Sequence[float]) -> float:
    """What the proximities' failures ϱ_i add to δ over successive requests with costs μ_i, in either direction.

    A failure in a later hop is seen through the earlier ones, where F_μ(p) = Φ(Φ⁻¹(p) + μ) bounds what probability p can
    become: ϱ₁ + F_{μ₁}(ϱ₂) + F_{μ₁+μ₂}(ϱ₃) + …, and the same from the other end. For one request it is ϱ.
    """
    costs = _checked(mus)
    values = [number(f"failures[{i}]", value, least=0.0, most=1.0) for i, value in enumerate(failures)]
    if len(values) != len(costs):
        raise ConfigError(f"failures must have one value per request: got {len(values)} for {len(costs)}.")
    if len(values) == 1 or max(values) == 1.0:
        return max(values)
    return min(1.0, max(_seen_through(costs, values), _seen_through(costs[::-1], values[::-1])))


def _seen_through(costs: Sequence[float], failures: Sequence[float]) -> float:
    total, before = 0.0, 0.0
    for cost, failure in zip(costs, failures, strict=True):
        if failure > 0.0:
            total += failure if before == 0.0 else _grown(failure, before)
        before += cost
    return total


def _grown(probability: float, mu: float) -> float:
    """F_μ(p) = Φ(Φ⁻¹(p) + μ), rounded up; the complementary error function keeps small tails whole."""
    return 0.5 * math.erfc(-(NormalDist().inv_cdf(probability) + mu) / math.sqrt(2.0)) * (1.0 + 1e-9)


def _checked(mus: Iterable[float]) -> list[float]:
    values = [number(f"mus[{i}]", value, least=0.0) for i, value in enumerate(mus)]
    if not values:
        raise ConfigError("mus must have at least one run; got none.")
    return values
