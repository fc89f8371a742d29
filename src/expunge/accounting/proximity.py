"""What n coupled training pairs say about the next one: Δ(ϱ) from order statistics, without any assumption on its tail.

Gaps g_1 … g_n of pairs that are exchangeable with the request:

    P(next gap ≤ the j-th largest) ≥ 1 − j/(n+1)                                   over pairs and request together
    1 − ϱ of all requests have gap ≤ the j-th largest, with confidence 1 − P(Bin(n, ϱ) < j)      for the pairs drawn

The failure probability is ϱ. Nothing below 1/(n+1) can be claimed: ten pairs support ϱ ≥ 1/11.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ConfigError, ProximityError
from .checks import number, probability, whole


@dataclass(frozen=True, slots=True)
class Proximity:
    """The claim ‖x̂ − x̂′‖ ≤ gap, wrong with probability at most `failure` (1: nobody knows), and what it rests on.

    It is measured where the noise enters: after the clean phase `entry`, if there is one (its description, as JSON), and
    after the training *and* unlearning of all earlier requests, if this is number `requests` on the model. With
    `design` (a description, as JSON) it holds for that design alone: it is the gap inside a keep-space, or `gaps` says
    that of each block, all at once.
    """

    gap: float
    failure: float
    source: str
    assumptions: tuple[str, ...] = ()
    entry: str | None = None
    requests: int = 1
    design: str | None = None
    gaps: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", number("gap", self.gap, least=0.0))
        object.__setattr__(self, "failure", number("failure", self.failure, least=0.0, most=1.0))
        object.__setattr__(self, "assumptions", tuple(self.assumptions))
        whole("requests", self.requests)
        if self.gaps is not None:
            _refuse_other_total(self, tuple(self.gaps))


def _refuse_other_total(claim: Proximity, gaps: Sequence[float]) -> None:
    """The gap of a claim about every block is that of all blocks together."""
    values = tuple(number(f"gaps[{i}]", gap, least=0.0) for i, gap in enumerate(gaps))
    total = math.hypot(*values)
    if not values or abs(claim.gap - total) > 1e-9 * total:
        raise ConfigError(f"gap must be the root of the gaps' squares, {total:.9g}; got {claim.gap:.9g}.")
    object.__setattr__(claim, "gaps", values)


def given(gap: float) -> Proximity:
    """A bare number. Nothing says how often it is exceeded, so unconditionally it promises nothing."""
    gap = number("proximity", gap, least=0.0)
    return Proximity(gap, 1.0, "given as a number", ("the gap was given without evidence of how often it is exceeded",))


def order_statistic(gaps: Sequence[float], *, rank: int = 1, safety_factor: float = 1.0) -> Proximity:
    """The j-th largest of n measured gaps (rank j), with ϱ = j/(n+1).

    A safety factor ≥ 1 widens the gap and leaves ϱ: what it buys beyond that is an assumption, and is recorded as one.
    """
    ordered = _checked(gaps)
    rank = whole("rank", rank, most=len(ordered))
    factor = number("safety_factor", safety_factor, least=1.0)
    note = (f"gap multiplied by a safety factor of {factor:g}, which no statistic asks for",) if factor > 1.0 else ()
    return Proximity(
        gap=ordered[-rank] * factor,
        failure=rank / (len(ordered) + 1),
        source=f"{'largest' if rank == 1 else f'number {rank} from the top'} of {len(ordered)} coupled pairs",
        assumptions=("the request is exchangeable with the calibration pairs", *note),
    )


def quantile(gaps: Sequence[float], failure: float, *, safety_factor: float = 1.0) -> Proximity:
    """The smallest order statistic that supports ϱ ≤ failure; refuses when there are too few pairs."""
    count, failure = len(_checked(gaps)), probability("failure", failure)
    rank = math.floor(failure * (count + 1) * (1.0 + 1e-12))
    if rank < 1:
        raise ProximityError(
            f"{count} pairs support a failure probability of 1/{count + 1} = {1 / (count + 1):.4g} or more; "
            f"got {failure:g}. Run {pairs_needed(failure)} pairs, or ask for less."
        )
    return order_statistic(gaps, rank=min(rank, count), safety_factor=safety_factor)


def confidence(pairs: int, failure: float, *, rank: int = 1) -> float:
    """How sure n pairs make us that the j-th largest gap covers 1 − ϱ of all requests: 1 − P(Bin(n, ϱ) < j).

    For the largest it is 1 − (1 − ϱ)^n: ten pairs and ϱ = 1/11 give only 61 %.
    """
    pairs, failure = whole("pairs", pairs, most=1_000_000), probability("failure", failure)
    rank = whole("rank", rank, most=pairs)
    log_odds, log_miss = math.log(failure) - math.log1p(-failure), pairs * math.log1p(-failure)
    below = math.fsum(math.exp(_log_choose(pairs, i) + i * log_odds + log_miss) for i in range(rank))
    return max(0.0, 1.0 - below)


def pairs_needed(failure: float, *, confidence: float | None = None) -> int:
    """The number of pairs whose largest gap supports ϱ (with a confidence, if one is asked for)."""
    failure = probability("failure", failure)
    if confidence is None:
        return max(1, math.ceil((1.0 / failure) * (1.0 - 1e-12)) - 1)
    return max(1, math.ceil(math.log1p(-probability("confidence", confidence)) / math.log1p(-failure) * (1.0 - 1e-12)))


def unconditional(delta: float, failure: float) -> float:
    """δ + ϱ: the certificate that does not suppose the proximity. At most 1, which says nothing."""
    delta = number("delta", delta, least=0.0, most=1.0)
    failure = number("failure", failure, least=0.0, most=1.0)
    return min(1.0, math.nextafter(delta + failure, 2.0)) if failure > 0.0 else delta


def _checked(gaps: Sequence[float]) -> list[float]:
    if isinstance(gaps, str) or not hasattr(gaps, "__len__"):
        raise ConfigError(f"gaps must be a list of measured gaps; got {gaps!r:.60}.")
    if len(gaps) == 0:
        raise ConfigError("gaps must have at least one measured pair; got none.")
    return sorted(number(f"gaps[{i}]", gap, least=0.0) for i, gap in enumerate(gaps))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
