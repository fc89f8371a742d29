"""How well a score tells members from non-members, with intervals (95 % unless asked otherwise).

AUC               probability that a member scores above a non-member, ties counted half; DeLong, DeLong &
                  Clarke-Pearson's interval (1988), which holds for large samples
TPR at an FPR     share of members found by the best threshold that accuses at most that share of non-members;
                  Clopper and Pearson's exact interval, for the threshold as it was found
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm, rankdata

from ..errors import DataError

Array = NDArray[Any]
POINTS = 60  # of a curve that is drawn: evenly spaced in the logarithm of the FPR
RATES = {"tpr_at_1": 0.01, "tpr_at_01": 0.001}


def measured(members: Array, nonmembers: Array, *, confidence: float = 0.95) -> dict[str, Any]:
    """The numbers of one attack, as plain JSON values. A higher score says: a member.

    A rate that so few non-members cannot resolve (1 % of 50) is null.
    """
    members, nonmembers = scores("members", members), scores("nonmembers", nonmembers)
    area, interval = auc(members, nonmembers, confidence=confidence)
    found: dict[str, Any] = {"auc": area, "interval": list(interval)}
    for name, rate in RATES.items():
        share = tpr_at(members, nonmembers, rate)
        count = None if share is None else round(share * len(members))
        found[name] = share
        found[f"{name}_interval"] = (
            None if count is None else list(binomial(count, len(members), confidence=confidence))
        )
    sizes = {"members": len(members), "nonmembers": len(nonmembers)}
    return {**found, **sizes, "roc": thinned(*curve(members, nonmembers))}


def scores(name: str, values: Any) -> Array:
    """A list of finite numbers, at least one."""
    found = np.asarray(values, np.float64)
    if found.ndim != 1 or len(found) == 0 or not np.isfinite(found).all():
        raise DataError(f"scores of {name} must be a list of finite numbers, one or more; got shape {found.shape}.")
    return found


def auc(members: Array, nonmembers: Array, *, confidence: float = 0.95) -> tuple[float, tuple[float, float]]:
    """The area under the ROC curve and its interval."""
    m, n = len(members), len(nonmembers)
    ranks = rankdata(np.concatenate([members, nonmembers]))
    above = (ranks[:m] - rankdata(members)) / n  # of each member: the share of non-members that it beats
    below = 1.0 - (ranks[m:] - rankdata(nonmembers)) / m
    area = float(above.mean())
    variance = _variance(above) / m + _variance(below) / n
    reach = float(norm.isf((1.0 - confidence) / 2.0)) * math.sqrt(variance)
    low, high = max(0.0, area - reach), min(1.0, area + reach)
    if variance == 0.0:  # all apart, or all tied: the smaller sample says how sure that is
        sure = ((1.0 - confidence) / 2.0) ** (1.0 / min(m, n))
        low, high = min(low, area * sure), max(high, 1.0 - (1.0 - area) * sure)
    return area, (low, high)


def curve(members: Array, nonmembers: Array) -> tuple[Array, Array]:
    """FPR and TPR at every threshold, from (0, 0) to (1, 1)."""
    values = np.concatenate([members, nonmembers])
    order = np.argsort(-values, kind="stable")
    member = (order < len(members)).astype(np.int64)
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)  # a tie is one threshold
    tpr, fpr = np.cumsum(member)[ends] / len(members), np.cumsum(1 - member)[ends] / len(nonmembers)
    return np.append(0.0, fpr), np.append(0.0, tpr)


def tpr_at(members: Array, nonmembers: Array, rate: float) -> float | None:
    """The largest TPR with FPR ≤ `rate`; none where that is less than one non-member."""
    if rate * len(nonmembers) < 1.0 - 1e-9:
        return None
    fpr, tpr = curve(members, nonmembers)
    return float(tpr[fpr <= rate * (1.0 + 1e-12)].max())


def thinned(fpr: Array, tpr: Array, points: int = POINTS) -> list[list[float]]:
    """Points of the curve for logarithmic axes: at each of some FPRs the TPR reached by then."""
    least = fpr[fpr > 0.0].min()
    grid = np.unique(np.append(0.0, np.geomspace(least, 1.0, points) * (1.0 + 1e-12)))
    at = np.unique(np.searchsorted(fpr, grid, side="right") - 1)
    return [[float(x), float(y)] for x, y in zip(fpr[at], tpr[at], strict=True)]


def binomial(count: int, of: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's exact interval of a share, two-sided."""
    tail = (1.0 - confidence) / 2.0
    return binomial_low(count, of, tail), binomial_high(count, of, tail)


def binomial_low(count: Any, of: int, tail: float) -> Any:
    """The share below which so many successes have probability at most `tail`."""
    count = np.asarray(count, np.float64)
    found = np.where(count > 0, beta.ppf(tail, np.maximum(count, 1.0), of - count + 1.0), 0.0)
    return float(found) if found.ndim == 0 else found


def binomial_high(count: Any, of: int, tail: float) -> Any:
    """The share above which so few successes have probability at most `tail`."""
    return 1.0 - binomial_low(of - np.asarray(count, np.float64), of, tail)


def _variance(values: Array) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0
