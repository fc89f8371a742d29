"""Constant schedules in closed form: T equal steps, against 60 digits."""

import math
import random

import pytest
from mpmath import mpf

from expunge import accounting as acc
from expunge.errors import BudgetError
from reference import constant_mu, log_uniform, off, schedule_mu


def random_cases(seed, count):
    """The shape of the published vectors, and wider."""
    rng = random.Random(seed)
    for _ in range(count):
        step_size = log_uniform(rng, 1e-4, 0.1)
        decay = rng.choice([0.0, log_uniform(rng, 1e-9, 0.95) / step_size])
        clip = rng.choice([0.0, log_uniform(rng, 1e-2, 1e4)])
        longest = int(min(500, 60 / (1e-9 - math.log1p(-step_size * decay))))  # ρ^T stays far above the smallest float
        steps = rng.choice([1, rng.randint(1, min(12, longest)), rng.randint(1, longest)])
        yield log_uniform(rng, 1e-3, 1e2), step_size, decay, clip, steps


def test_sigma_is_exact_and_never_too_small():
    rng = random.Random(1)
    for gap, step_size, decay, clip, steps in random_cases(2, 400):
        mu = log_uniform(rng, 1e-4, 1e3)
        got = acc.sigma(mu, gap, step_size=step_size, weight_decay=decay, clip=clip, steps=steps)
        true = constant_mu(gap, acc.Step(step_size, decay, clip, 1.0), steps) / mpf(mu)
        assert got >= true, (gap, step_size, decay, clip, steps)
        assert off(got, true) < 1e-9


def test_mu_is_exact_and_never_too_small():
    for gap, step_size, decay, clip, steps in random_cases(3, 400):
        step = acc.Step(step_size, decay, clip, 0.7)
        true = constant_mu(gap, step, steps)
        got = acc.mu(gap, acc.Block((step,) * steps))
        assert got >= true, (gap, step_size, decay, clip, steps)
        assert off(got, true) < 1e-9


def test_output_perturbation_is_one_plain_step():
    assert acc.sigma(2.0, 3.0, step_size=0.0, weight_decay=0.0, clip=0.0, steps=1) == pytest.approx(1.5, rel=1e-11)
    assert acc.mu(3.0, acc.Block((acc.Step(0.0, 0.0, 0.0, 1.5),))) == pytest.approx(2.0, rel=1e-11)


@pytest.mark.parametrize("rate", [0.0, 5e-324, 1e-300, 1e-17, 1e-12, 1e-9, 1e-8])
@pytest.mark.parametrize("steps", [1, 7, 100_000, 10**9])
@pytest.mark.parametrize("clip", [0.0, 2.0])
def test_the_limit_of_no_decay_is_smooth(rate, steps, clip):
    got = acc.sigma(1.0, 0.5, step_size=1.0, weight_decay=rate, clip=clip, steps=steps)
    true = constant_mu(0.5, acc.Step(1.0, rate, clip, 1.0), steps)
    assert off(got, true) < 1e-9
    assert got >= true


def test_a_gap_that_has_shrunk_below_every_float_still_needs_noise():
    """Two different points stay different: without any noise nothing hides that."""
    schedule = {"step_size": 0.5, "weight_decay": 1.0, "clip": 0.0}
    assert acc.sigma(1.0, 1.0, **schedule, steps=2000) > 0.0
    with pytest.raises(BudgetError):
        acc.mu(1.0, acc.Block((acc.Step(**schedule, sigma=0.0),) * 2000))


@pytest.mark.parametrize("rate", [0.9, 0.99, 1 - 1e-6, 1 - 1e-9, 1 - 2**-40])
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("clip", [0.0, 2.0])
def test_a_step_that_forgets_nearly_all_is_exact_too(rate, steps, clip):
    got = acc.sigma(1.0, 0.5, step_size=1.0, weight_decay=rate, clip=clip, steps=steps)
    true = constant_mu(0.5, acc.Step(1.0, rate, clip, 1.0), steps)
    assert got >= true
    assert off(got, true) < 1e-9


def test_a_rate_that_is_rounded_does_not_understate():
    """γλ = 1 − 1e-7, but as a product of two floats: its rounding must not eat into 1 − γλ."""
    rng = random.Random(4)
    for _ in range(200):
        step_size = rng.uniform(0.01, 1.0)
        step = acc.Step(step_size, (1.0 - log_uniform(rng, 1e-8, 1e-2)) / step_size, 0.0, 1.0)
        got, true = acc.mu(1.0, acc.Block((step,) * 3)), constant_mu(1.0, step, 3)
        assert got >= true, step
        assert off(got, true) < 1e-7
        last = acc.Step(0.1, 1.0, 0.0, 2.0)
        got, true = acc.mu(1.0, acc.Block((step, step, last))), schedule_mu(1.0, (step, step, last))
        assert got >= true, step
        assert off(got, true) < 1e-7


def test_a_billion_steps_settle_where_the_gap_is_forgotten():
    """Then R = 2C₁/λ and S = 1/(γλ(2 − γλ))."""
    got = acc.sigma(1.0, 5.0, step_size=1e-3, weight_decay=10.0, clip=4.0, steps=10**9)
    assert got == pytest.approx(2 * 4.0 / 10.0 * math.sqrt(0.01 * 1.99), rel=1e-11)


def test_more_steps_never_cost_more_noise_without_gradients():
    for decay in (0.0, 1e-12, 0.1, 9.0):
        sigmas = [
            acc.sigma(1.0, 1.0, step_size=0.1, weight_decay=decay, clip=0.0, steps=steps)
            for steps in [*range(1, 60), 1000, 10**6]
        ]
        assert sigmas == sorted(sigmas, reverse=True)


def test_equal_steps_cost_the_same_however_they_are_written():
    """The closed form and the convex minorant of a schedule that is constant but for a harmless last step."""
    for gap, step_size, decay, clip, steps in random_cases(5, 100):
        step = acc.Step(step_size, decay, clip, 0.7)
        harmless = acc.Step(0.0, 0.0, 1.0, 0.0)
        whole, written = acc.Block((step,) * steps), acc.Block((*(step,) * steps, harmless))
        assert acc.mu(gap, written) == pytest.approx(acc.mu(gap, whole), rel=1e-10)
