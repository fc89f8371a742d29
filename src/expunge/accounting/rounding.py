"""Which way a number may be wrong.

A certificate that understates ε is false; one that overstates it by a billionth is not worth a word. So every
result leaves the accountant on its safe side: ε, δ, σ and μ of a run up; the μ that a budget allows down.
"""

import math
from collections.abc import Callable

MARGIN = 1e-12  # relative; far above the rounding error of any closed form here, far below anything that matters
UNIT = 2.0**-52  # one unit in the last place; a sum of n positive terms is off by less than n of them


def up(value: float, terms: int = 1) -> float:
    """A little more than `value`, which was summed from so many terms."""
    return value * (1.0 + MARGIN + terms * UNIT)


def down(value: float) -> float:
    """A little less than `value`."""
    return value * (1.0 - MARGIN)


def largest(holds: Callable[[float], bool], low: float) -> float:
    """The largest float with `holds`, true at `low` > 0 and false from some point on."""
    high = 2.0 * low
    while holds(high):
        low, high = high, 2.0 * high
    return _bisect(holds, low, high)


def smallest(holds: Callable[[float], bool], high: float) -> float:
    """The smallest float with `holds`, false at 0 and true from some point ≤ `high` on."""
    return _bisect(holds, high, 0.0)


def _bisect(holds: Callable[[float], bool], good: float, bad: float) -> float:
    """Close in until no float lies between; the end where it holds."""
    while (middle := good + (bad - good) / 2.0) not in (good, bad):
        if holds(middle):
            good = middle
        else:
            bad = middle
    if not math.isfinite(good):
        raise OverflowError("the search left the range of floating-point numbers")
    return good
