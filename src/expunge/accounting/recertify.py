"""What a finished run is worth under another proximity, and the inverses.

The ledger (blocks, steps, γ, λ, C₁, σ) fixes the trajectory, so a new Δ′ only asks for a new μ. The drift term does not
grow with Δ, so this is tighter than the paper's rule (`paper.budget_after`), which scales it too.
"""

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Literal, NamedTuple

from ..errors import BudgetError, ConfigError
from . import gaussian, renyi
from .checks import LARGEST, SMALLEST
from .mechanism import Block, as_blocks
from .rounding import largest
from .split import mu as run_mu

Accountant = Literal["gaussian", "renyi"]


class Point(NamedTuple):
    """One point of a privacy curve."""

    delta: float
    epsilon: float


def conversion(accountant: Accountant) -> ModuleType:
    """The module that turns μ into (ε, δ) and back."""
    modules = {"gaussian": gaussian, "renyi": renyi}
    if not isinstance(accountant, str) or accountant not in modules:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"accountant must be 'gaussian' or 'renyi'; got {accountant!r}.")
    return modules[accountant]


def recertified_epsilon(
    gap: float, blocks: Block | Iterable[Block], *, delta: float, accountant: Accountant = "gaussian"
) -> float:
    """ε′ of the run at the new gap Δ′, rounded up."""
    return conversion(accountant).epsilon(run_mu(gap, blocks), delta)


def largest_gap(
    blocks: Block | Iterable[Block], *, epsilon: float, delta: float, accountant: Accountant = "gaussian"
) -> float:
    """The largest Δ for which the run is (ε, δ), rounded down."""
    blocks = as_blocks(blocks)
    budget = conversion(accountant).mu(epsilon, delta)
    if (at_zero := run_mu(0.0, blocks)) > budget:
        raise BudgetError(
            f"no gap is small enough: the drift alone costs mu = {at_zero:g}, and "
            f"epsilon = {epsilon:g}, delta = {delta:g} allow {budget:g}. Lower clip or steps, or raise sigma."
        )
    if run_mu(LARGEST, blocks) <= budget:
        return LARGEST
    if run_mu(SMALLEST, blocks) > budget:
        return 0.0
    return largest(lambda gap: run_mu(gap, blocks) <= budget, SMALLEST)


def privacy_curve(mu: float, deltas: Sequence[float], *, accountant: Accountant = "gaussian") -> list[Point]:
    """ε at each δ."""
    convert = conversion(accountant)
    return [Point(delta, convert.epsilon(mu, delta)) for delta in deltas]
