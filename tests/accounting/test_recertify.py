import random

import pytest

from expunge import accounting as acc
from expunge.errors import BudgetError, ConfigError
from reference import log_uniform


def test_ours_is_never_above_the_papers_rule_for_a_valid_run():
    rng = random.Random(1)
    for _ in range(100):
        epsilon, delta, gap = log_uniform(rng, 0.1, 1e3), log_uniform(rng, 1e-12, 0.01), log_uniform(rng, 0.01, 10.0)
        schedule = {"step_size": 1e-3, "weight_decay": rng.choice([0.0, 50.0]), "clip": log_uniform(rng, 1.0, 1e4)}
        steps = rng.randint(1, 40)
        sigma = acc.sigma(acc.renyi.mu(epsilon, delta), gap, **schedule, steps=steps)
        run = acc.Block((acc.Step(**schedule, sigma=sigma),) * steps)
        for growth in (1.0, 1.3, 4.0):
            ours = acc.recertified_epsilon(gap * growth, run, delta=delta, accountant="renyi")
            papers = acc.paper.budget_after(gap, gap * growth, epsilon=epsilon, delta=delta)
            assert ours <= papers * (1 + 1e-11)
            assert acc.recertified_epsilon(gap * growth, run, delta=delta) <= ours
        assert ours < papers * (1 - 1e-6)  # the drift does not grow with the gap


def test_the_papers_rule_divides_the_budget_by_the_square():
    """B = ε_R/q, so μ = √(2B): a gap m times larger has B/m² as its share, and costs mμ."""
    mu = acc.renyi.mu(10.0, 1e-5)
    assert acc.paper.budget_after(0.5, 1.5, epsilon=10.0, delta=1e-5) == pytest.approx(acc.renyi.epsilon(3 * mu, 1e-5))
    assert acc.paper.budget_after(0.5, 0.5, epsilon=10.0, delta=1e-5) == pytest.approx(10.0)
    with pytest.raises(BudgetError, match="larger gap"):
        acc.paper.budget_after(0.5, 0.4, epsilon=10.0, delta=1e-5)


def test_the_privacy_curve_has_a_point_for_every_delta():
    deltas = [1e-15, 1e-5, 0.1]
    for accountant in ("gaussian", "renyi"):
        curve = acc.privacy_curve(1.3, deltas, accountant=accountant)
        assert [point.delta for point in curve] == deltas
        assert [point.epsilon for point in curve] == [getattr(acc, accountant).epsilon(1.3, delta) for delta in deltas]


def test_no_gap_is_small_enough_where_drift_alone_is_too_much():
    run = acc.Block((acc.Step(0.1, 1.0, 100.0, 0.1),))
    with pytest.raises(BudgetError, match="drift alone"):
        acc.largest_gap(run, epsilon=1.0, delta=1e-5)


def test_the_largest_gap_of_output_perturbation_is_mu_sigma():
    run = acc.Block((acc.Step(0.0, 0.0, 0.0, 2.0),))
    for epsilon in (1e-3, 1.0, 1e6):
        expected = 2.0 * acc.gaussian.mu(epsilon, 1e-5)
        assert acc.largest_gap(run, epsilon=epsilon, delta=1e-5) == pytest.approx(expected, rel=1e-10)


def test_unconditional_adds_the_failure_probability_upward():
    assert acc.unconditional(1e-5, 0.0) == 1e-5
    assert acc.unconditional(1e-5, 1 / 11) == pytest.approx(1e-5 + 1 / 11)
    assert acc.unconditional(0.3, 1e-20) > 0.3
    assert acc.unconditional(0.7, 0.6) == 1.0


def test_an_unknown_accountant_is_named():
    with pytest.raises(ConfigError, match="'moments'"):
        acc.recertified_epsilon(1.0, acc.Block((acc.Step(0, 0, 0, 1.0),)), delta=1e-5, accountant="moments")
