"""Proximity from theory: argument stability of (stochastic) gradient descent, and of regularised minimisers.

Every assumption is an input or stands in the name; none is checked here, and each goes into the certificate.

    lipschitz L     smoothness β     strong_convexity m     step_sizes α_t
    replaced f_t: the fraction of step t's minibatch that differs between the two runs (0: the same batch)

Two coupled runs from one start. One step of descent on a common batch expands their distance by at most

    convex, β-smooth, α ≤ 2/β: 1       m-strongly convex, α ≤ 2/(β + m): 1 − αm       non-convex, β-smooth: 1 + αβ

and the differing part adds 2αLf (Hardt, Recht & Singer 2016, Lemmas 2.5 and 3.7). Without smoothness, monotone
subgradients give δ² ← δ² + 4αLfδ + 4α²L² (Bassily, Feldman, Guzmán & Talwar 2020). See docs/proximity.md.
"""

import math
from collections.abc import Callable, Sequence

from ..errors import ConfigError
from .checks import number, whole
from .rounding import up


def strongly_convex(
    step_sizes: Sequence[float],
    replaced: Sequence[float],
    *,
    lipschitz: float,
    smoothness: float,
    strong_convexity: float,
) -> float:
    """m-strongly convex, β-smooth, L-Lipschitz along both runs, α ≤ 2/(β + m).

    With constant α and whole batches replaced this is 2αL Σ_{t∈B} (1 − αm)^{T−1−t}. (The paper prints the exponent t,
    which forgets the late steps, the ones that count, and can understate the gap.)
    """
    smoothness = number("smoothness", smoothness, above=0.0)
    convexity = number("strong_convexity", strong_convexity, above=0.0, most=smoothness)
    _steps_at_most(step_sizes, 2.0 / (smoothness + convexity), "2/(smoothness + strong_convexity)")
    return _unroll(step_sizes, replaced, lipschitz, lambda step: 1.0 - step * convexity)


def convex(step_sizes: Sequence[float], replaced: Sequence[float], *, lipschitz: float, smoothness: float) -> float:
    """Convex, β-smooth, L-Lipschitz, α ≤ 2/β: distances never expand, so drifts add."""
    _steps_at_most(step_sizes, 2.0 / number("smoothness", smoothness, above=0.0), "2/smoothness")
    return _unroll(step_sizes, replaced, lipschitz, lambda _: 1.0)


def non_convex(step_sizes: Sequence[float], replaced: Sequence[float], *, lipschitz: float, smoothness: float) -> float:
    """β-smooth, L-Lipschitz: true, and exponential in Σα_tβ, so rarely of use beyond short runs."""
    smoothness = number("smoothness", smoothness, least=0.0)
    return _unroll(step_sizes, replaced, lipschitz, lambda step: 1.0 + step * smoothness)


def non_smooth_convex(step_sizes: Sequence[float], replaced: Sequence[float], *, lipschitz: float) -> float:
    """Convex, L-Lipschitz, subgradient steps of any size."""
    lipschitz = number("lipschitz", lipschitz, least=0.0)
    square = 0.0
    for step, fraction in _checked(step_sizes, replaced):
        if square == 0.0 and fraction == 0.0:
            continue  # the two runs have not parted yet
        push = 2.0 * step * lipschitz
        square += 2.0 * push * fraction * math.sqrt(square) + push * push
    return up(math.sqrt(square), len(step_sizes))


def gradient_at_model(gradient_norm: float, *, strong_convexity: float, reference_gradient_norm: float = 0.0) -> float:
    """‖x̂ − x̂′‖ ≤ (‖∇F_r(x̂)‖ + ‖∇F_r(x̂′)‖)/m for an m-strongly convex retained objective F_r: the one bound to measure.

    F_r includes the regulariser: with L2 weight λ on convex losses, m = λ. At the exact minimiser of the full objective
    ∇F_r(x̂) = −Σ_forget(∇ℓ_i + λx̂)/n_r. The second norm is how exactly retraining would have been solved.
    """
    total = number("gradient_norm", gradient_norm, least=0.0) + number(
        "reference_gradient_norm", reference_gradient_norm, least=0.0
    )
    return up(total / number("strong_convexity", strong_convexity, above=0.0))


def regularized_minimizers(*, lipschitz: float, strong_convexity: float, forget: int, retained: int) -> float:
    """How far the exact minimiser of (1/n)Σℓ_i + (λ/2)‖x‖² moves when n_f samples go: ≤ 2L n_f/(λ n_r).

    For convex L-Lipschitz ℓ_i. (‖Σ_f(∇ℓ_i + λx̂)‖ ≤ 2L n_f, because λx̂ is itself an average of gradients.)
    """
    bound = 2.0 * number("lipschitz", lipschitz, least=0.0) * whole("forget", forget, least=0)
    return up(bound / (number("strong_convexity", strong_convexity, above=0.0) * whole("retained", retained)))


def _unroll(
    step_sizes: Sequence[float], replaced: Sequence[float], lipschitz: float, expansion: Callable[[float], float]
) -> float:
    lipschitz = number("lipschitz", lipschitz, least=0.0)
    distance = 0.0
    for step, fraction in _checked(step_sizes, replaced):
        distance = expansion(step) * distance + 2.0 * step * lipschitz * fraction
    return up(distance, len(step_sizes))


def _checked(step_sizes: Sequence[float], replaced: Sequence[float]) -> list[tuple[float, float]]:
    if len(step_sizes) != len(replaced):
        raise ConfigError(
            f"replaced must have one fraction per step: got {len(replaced)} for {len(step_sizes)} step sizes."
        )
    return [
        (number(f"step_sizes[{t}]", step, least=0.0), number(f"replaced[{t}]", fraction, least=0.0, most=1.0))
        for t, (step, fraction) in enumerate(zip(step_sizes, replaced, strict=True))
    ]


def _steps_at_most(step_sizes: Sequence[float], bound: float, formula: str) -> None:
    for t, step in enumerate(step_sizes):
        if number(f"step_sizes[{t}]", step, least=0.0) > bound:
            raise ConfigError(f"step_sizes[{t}] must be at most {formula} = {bound:g} for this bound; got {step:g}.")
