"""The paper's own formulas, and where they part from what a run with a whole number of steps needs."""

import math
import random

import pytest
from mpmath import mp, mpf

from expunge import accounting as acc
from expunge.errors import BudgetError, ConfigError
from reference import log_uniform, off, renyi_mu

MNIST = {"step_size": 1e-4, "weight_decay": 100.0, "clip": 5000.0}
TARGET = {"epsilon": 30.0, "delta": 1e-5}
paper = acc.paper


def random_settings(seed, count, pull=(1e-3, 0.95)):
    """λC₀/C₁ within `pull`, so that T* exists."""
    rng = random.Random(seed)
    for _ in range(count):
        step_size, decay, gap = log_uniform(rng, 1e-5, 0.05), log_uniform(rng, 1e-2, 15.0), log_uniform(rng, 1e-2, 10.0)
        clip = decay * gap / 2 / log_uniform(rng, *pull)
        target = {"epsilon": log_uniform(rng, 0.1, 1e3), "delta": log_uniform(rng, 1e-12, 0.01)}
        yield gap, {"step_size": step_size, "weight_decay": decay, "clip": clip}, target


def test_sigma_min_touches_the_curve_at_the_real_number_of_steps_only():
    for gap, schedule, target in random_settings(1, 80):
        best = paper.optimal_steps(gap, **schedule)
        least = paper.minimal_sigma(gap, **schedule, **target)
        assert paper.sigma_at(gap, best, **schedule, **target) == pytest.approx(least, rel=1e-9)
        for factor in (0.5, 0.9, 1.1, 2.0):
            assert paper.sigma_at(gap, best * factor, **schedule, **target) > least


def test_the_papers_mnist_setting_is_under_noised_by_a_factor_of_1_126():
    assert paper.optimal_steps(0.5, **MNIST) == pytest.approx(0.4987, abs=5e-5)
    needed = acc.sigma(acc.renyi.mu(**TARGET), 0.5, **MNIST, steps=1)
    assert (needed / paper.minimal_sigma(0.5, **MNIST, **TARGET)) ** 2 == pytest.approx(1.126, abs=5e-4)


def test_the_curve_at_whole_steps_is_what_the_accountant_asks_for():
    for gap, schedule, target in random_settings(2, 80, pull=(1e-3, 5.0)):
        for steps in (1, 2, 17, 400):
            ours = acc.sigma(acc.renyi.mu(**target), gap, **schedule, steps=steps)
            assert paper.sigma_at(gap, steps, **schedule, **target) == pytest.approx(ours, rel=1e-9)


def test_the_curve_solves_the_papers_quadratic():
    """Appendix, eq. quad-s, with 2C₀ = Δ, for s = 1/σ²."""
    for gap, schedule, target in random_settings(3, 60):
        g, lam, c1 = (mpf(schedule[name]) for name in ("step_size", "weight_decay", "clip"))
        q_over_budget = 2 / renyi_mu(**target) ** 2
        for steps in (1, 5, 60):
            x, z, r = (1 - g * lam) ** steps, 1 - lam * mpf(gap) / 2 / c1, g * lam * (2 - g * lam)
            k = 2 * q_over_budget * c1**2 / lam**2
            a, b, c = (
                k**2 * z**2 * (1 - x * z) ** 2,
                k / r * (1 - 2 * x * z + (2 * x * x - 1) * z * z),
                (x * x - 1) / r**2,
            )
            variance = 2 * a / (-b + mp.sqrt(b * b - 4 * a * c))
            assert off(paper.sigma_at(gap, steps, **schedule, **target) ** 2, variance) < 1e-9


def test_where_noise_only_falls_sigma_min_is_the_limit_of_many_steps():
    for gap, schedule, target in random_settings(4, 30, pull=(1.0 + 1e-9, 20.0)):
        limit = paper.minimal_sigma(gap, **schedule, **target)
        rate = schedule["step_size"] * schedule["weight_decay"]
        assert paper.sigma_at(gap, 60 / rate, **schedule, **target) == pytest.approx(limit, rel=1e-9)
        assert paper.sigma_at(gap, 1 / rate, **schedule, **target) > limit
        with pytest.raises(BudgetError):
            paper.optimal_steps(gap, **schedule)


def test_initialization_makes_its_number_of_steps_the_best_one():
    for gap, schedule, target in random_settings(5, 60):
        rate = {name: schedule[name] for name in ("step_size", "weight_decay")}
        for steps in (1, 3, 40):
            start = paper.initialization(gap, steps, **rate, **target)
            assert paper.optimal_steps(gap, **rate, clip=start.clip) == pytest.approx(steps, rel=1e-6)
            assert start.sigma == pytest.approx(paper.minimal_sigma(gap, **rate, clip=start.clip, **target), rel=1e-9)
            assert start.sigma == pytest.approx(
                acc.sigma(acc.renyi.mu(**target), gap, **rate, clip=start.clip, steps=steps), rel=1e-9
            )
            printed = paper.initialization_as_printed(gap, steps, **rate, **target)
            q, budget = acc.renyi.order(**target)
            x = (1 - rate["step_size"] * rate["weight_decay"]) ** steps
            r = rate["step_size"] * rate["weight_decay"] * (2 - rate["step_size"] * rate["weight_decay"])
            assert printed.sigma**2 == pytest.approx(r * (1 + x) / (1 - x) * 8 * q / budget * gap**2, rel=1e-6)
            assert printed.clip == pytest.approx(2 * rate["weight_decay"] * gap / (1 - x), rel=1e-6)
            assert printed == pytest.approx((4 * start.sigma, 4 * start.clip))


def test_success_from_a_fresh_start():
    assert paper.fresh_start_success(0.99, epsilon=1.0, delta=1e-5) == pytest.approx(1 - math.e * 0.01 - 2e-5)
    assert paper.fresh_start_success(1.0, epsilon=700.0, delta=1e-5) == pytest.approx(1 - 2e-5)
    assert paper.fresh_start_success(0.5, epsilon=1.0, delta=1e-5) == 0.0
    assert paper.fresh_start_success(0.0, epsilon=0.0, delta=1e-5) == 0.0
    assert paper.fresh_start_success(0.9, epsilon=1e6, delta=1e-5) == 0.0


def test_formulas_that_divide_by_the_decay_say_so():
    still = {"step_size": 0.1, "weight_decay": 0.0}
    with pytest.raises(ConfigError, match="weight_decay"):
        paper.sigma_at(0.5, 3, **still, clip=1.0, **TARGET)
    with pytest.raises(ConfigError, match="weight_decay"):
        paper.initialization(0.5, 3, **still, **TARGET)
