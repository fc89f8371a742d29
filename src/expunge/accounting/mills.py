"""The normal tail without cancellation: M(x) = (1 − Φ(x))/φ(x), Mills' ratio, and 1 − x M(x).

For x ≥ 4 Laplace's continued fraction, below it the complementary error function of the C library.
Plain Python on purpose: the accountant has no dependency, starts in milliseconds and can be read by an auditor.
"""

import math

TERMS = 80  # at x = 4 the fraction is exact to the last bit; tests/accounting compares with mpmath
ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


def mills(x: float) -> float:
    """(1 − Φ(x))/φ(x), for x > −38."""
    if x < 4.0:
        return 0.5 * ROOT_TWO_PI * math.exp(0.5 * x * x) * math.erfc(x / math.sqrt(2.0))
    return 1.0 / (x + _tail(x))


def mills_slope(x: float) -> float:
    """1 − x M(x) = −M′(x) > 0."""
    if x < 4.0:
        return 1.0 - x * mills(x)
    rest = _tail(x)
    return rest / (x + rest)


def _tail(x: float) -> float:
    """1/(x + 2/(x + 3/(x + …))), from the back."""
    rest = x
    for k in range(TERMS, 1, -1):
        rest = x + k / rest
    return 1.0 / rest
