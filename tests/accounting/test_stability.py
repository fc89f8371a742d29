"""Proximity from theory: against coupled runs of problems that satisfy the assumptions, and against the worst ones."""

import math
import random

import numpy as np
import pytest
import scipy.optimize
from mpmath import mpf

from expunge.accounting import stability
from expunge.errors import ConfigError

STEPS, BATCH, SIZE = 60, 4, 3


def coupled_runs(gradient, step_sizes, seed):
    """Two runs on the same batches, in which some samples of the second one are others. The gap, and the fractions."""
    rng = np.random.default_rng(seed)
    x = y = rng.normal(size=SIZE)
    replaced = []
    for step in step_sizes:
        batch = rng.normal(size=(BATCH, SIZE))
        other = batch.copy()
        count = int(rng.choice([0, 0, 1, BATCH]))
        other[:count] = rng.normal(size=(count, SIZE)) * 3
        x, y = x - step * gradient(x, batch), y - step * gradient(y, other)
        replaced.append(count / BATCH)
    return np.linalg.norm(x - y), replaced


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def logistic(x, rows, ridge=0.0):
    """Gradients of log(1 + exp(−aᵀx)), |a| = 1: 1-Lipschitz, 1/4-smooth; with a ridge on a ball of radius 3."""
    rows = unit(rows)
    return -(rows / (1 + np.exp(rows @ x))[:, None]).mean(axis=0) + ridge * x


def hinge(x, rows):
    rows = unit(rows)
    return -(rows * (rows @ x < 1)[:, None]).mean(axis=0)


def wave(x, rows):
    """Of sin(aᵀx): non-convex, 1-Lipschitz, 1-smooth."""
    rows = unit(rows)
    return (rows * np.cos(rows @ x)[:, None]).mean(axis=0)


@pytest.mark.parametrize("seed", range(20))
def test_coupled_runs_stay_within_their_bounds(seed):
    steps = np.random.default_rng(seed).uniform(0.0, 1.0, size=STEPS)
    gap, replaced = coupled_runs(logistic, 7.9 * steps, seed)
    assert gap <= stability.convex(7.9 * steps, replaced, lipschitz=1.0, smoothness=0.25)
    gap, replaced = coupled_runs(hinge, steps, seed)
    assert gap <= stability.non_smooth_convex(steps, replaced, lipschitz=1.0)
    gap, replaced = coupled_runs(wave, 0.1 * steps, seed)
    assert gap <= stability.non_convex(0.1 * steps, replaced, lipschitz=1.0, smoothness=1.0)
    gap, replaced = coupled_runs(lambda x, rows: logistic(x, rows, ridge=0.2), steps, seed)
    # ‖x‖ ≤ max(‖start‖, 1/ridge) along the run
    radius = max(5.0, float(np.linalg.norm(np.random.default_rng(seed).normal(size=SIZE))))
    bound = stability.strongly_convex(
        steps, replaced, lipschitz=1.0 + 0.2 * radius, smoothness=0.45, strong_convexity=0.2
    )
    assert gap <= bound


def test_late_steps_count_where_the_papers_exponent_forgets_them():
    """Quadratic m x²/2 ∓ L x with one differing step, the last: the gap is 2αL, not 2αL(1 − αm)^{T−1}."""
    alpha, m, lipschitz, steps = 0.1, 2.0, 1.0, 30
    replaced = [*[0.0] * (steps - 1), 1.0]
    bound = stability.strongly_convex([alpha] * steps, replaced, lipschitz=lipschitz, smoothness=m, strong_convexity=m)
    assert bound == pytest.approx(2 * alpha * lipschitz)
    assert bound > 100 * 2 * alpha * lipschitz * (1 - alpha * m) ** (steps - 1)


def test_the_bounds_are_reached_by_the_worst_problem_of_their_kind():
    rng = random.Random(3)
    steps, replaced = [rng.uniform(0.0, 0.3) for _ in range(20)], [rng.choice([0.0, 0.25, 1.0]) for _ in range(20)]
    for bend, bound in (
        (2.0, stability.strongly_convex(steps, replaced, lipschitz=3.0, smoothness=2.0, strong_convexity=2.0)),
        (0.0, stability.convex(steps, replaced, lipschitz=3.0, smoothness=2.0)),
        (-2.0, stability.non_convex(steps, replaced, lipschitz=3.0, smoothness=2.0)),
    ):
        gap = mpf(0)
        for step, fraction in zip(steps, replaced, strict=True):
            gap = gap * (1 - mpf(step) * bend) + 2 * mpf(step) * 3 * mpf(fraction)
        assert bound >= gap
        assert bound == pytest.approx(float(gap), rel=1e-11)


def test_non_smooth_runs_grow_like_the_root_of_the_steps():
    one = stability.non_smooth_convex([0.1] * 100, [1.0, *[0.0] * 99], lipschitz=2.0)
    assert one == pytest.approx(2 * 0.1 * 2.0 * 10)
    assert stability.non_smooth_convex([0.1] * 9, [0.0] * 9, lipschitz=2.0) == 0.0
    assert stability.non_smooth_convex([0.1] * 9, [1.0] * 9, lipschitz=2.0) == pytest.approx(9 * 0.4)


@pytest.mark.parametrize("seed", range(5))
def test_minimisers_of_ridge_logistic_regression_are_within_both_bounds(seed):
    rows = unit(np.random.default_rng(seed).normal(loc=[1.0, 0.0, 0.0], size=(60, SIZE)))
    rows[:6] *= -1
    ridge = 0.05

    def objective(x, part):
        return np.logaddexp(0, -part @ x).mean() + ridge / 2 * x @ x, logistic(x, part, ridge)

    full, kept = (
        scipy.optimize.minimize(objective, np.zeros(SIZE), args=(part,), jac=True, tol=1e-12).x
        for part in (rows, rows[6:])
    )
    gap = np.linalg.norm(full - kept)
    measured = stability.gradient_at_model(
        float(np.linalg.norm(logistic(full, rows[6:], ridge))),
        strong_convexity=ridge,
        reference_gradient_norm=float(np.linalg.norm(logistic(kept, rows[6:], ridge))),
    )
    theory = stability.regularized_minimizers(lipschitz=1.0, strong_convexity=ridge, forget=6, retained=54)
    assert 0.1 * measured < gap <= measured <= theory == pytest.approx(2 * 6 / (ridge * 54))


def test_steps_that_the_theorem_does_not_cover_are_refused():
    for call in (
        lambda: stability.convex([0.1, 2.1], [0.0, 1.0], lipschitz=1.0, smoothness=1.0),
        lambda: stability.strongly_convex([0.1, 1.1], [0.0, 1.0], lipschitz=1.0, smoothness=1.0, strong_convexity=1.0),
    ):
        with pytest.raises(ConfigError, match=r"step_sizes\[1\]"):
            call()
    with pytest.raises(ConfigError, match="strong_convexity"):
        stability.strongly_convex([0.1], [1.0], lipschitz=1.0, smoothness=1.0, strong_convexity=2.0)


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "0.1", True, None])
def test_what_is_no_step_fraction_or_constant_is_refused(bad):
    kinds = (
        lambda **k: stability.convex(k["a"], k["f"], lipschitz=k["l"], smoothness=1.0),
        lambda **k: stability.strongly_convex(k["a"], k["f"], lipschitz=k["l"], smoothness=1.0, strong_convexity=0.5),
        lambda **k: stability.non_convex(k["a"], k["f"], lipschitz=k["l"], smoothness=1.0),
        lambda **k: stability.non_smooth_convex(k["a"], k["f"], lipschitz=k["l"]),
    )
    for kind in kinds:
        for change in ({"a": [bad]}, {"f": [bad]}, {"l": bad}, {"a": [0.1, 0.1]}):
            with pytest.raises(ConfigError):
                kind(**({"a": [0.1], "f": [0.5], "l": 1.0} | change))
