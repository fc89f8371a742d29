"""μ ↔ (ε, δ) against 60 digits, over the whole promised range, and always on the safe side."""

import random

import pytest
from mpmath import mp, mpf

from expunge.accounting import gaussian, renyi
from reference import gaussian_delta, log_uniform, off, renyi_epsilon, renyi_mu

CLOSE = 1 + mpf("1e-9")
RNG = random.Random(20240229)
BUDGETS = [(log_uniform(RNG, 1e-3, 1e6), log_uniform(RNG, 1e-15, 0.1)) for _ in range(400)]
RUNS = [(log_uniform(RNG, 1e-4, 1e3), log_uniform(RNG, 1e-15, 0.1)) for _ in range(400)]
CORNERS = [(e, d) for e in (1e-3, 1e6) for d in (1e-15, 0.1)]
RUN_CORNERS = [(m, d) for m in (1e-4, 0.4999999, 0.5, 1e3) for d in (1e-15, 0.1)]


def test_gaussian_mu_is_the_largest_that_fits():
    for epsilon, delta in BUDGETS + CORNERS:
        mu = gaussian.mu(epsilon, delta)
        assert gaussian_delta(mu, epsilon) <= mpf(delta) < gaussian_delta(mu * CLOSE, epsilon), (epsilon, delta)


def test_gaussian_epsilon_is_the_smallest_that_holds():
    for mu, delta in RUNS + RUN_CORNERS:
        epsilon = gaussian.epsilon(mu, delta)
        assert gaussian_delta(mu, epsilon) <= mpf(delta), (mu, delta)
        assert epsilon == 0 or gaussian_delta(mu, epsilon / CLOSE) > mpf(delta), (mu, delta)


def test_gaussian_delta_is_exact_and_never_below():
    for mu, delta in RUNS + RUN_CORNERS:
        epsilon = gaussian.epsilon(mu, delta)
        true = gaussian_delta(mu, epsilon)
        got = gaussian.delta(mu, epsilon)
        assert got >= true, (mu, epsilon)
        assert off(got, true) < 1e-9, (mu, epsilon)


@pytest.mark.parametrize("mu", [1e-4, 0.01, 0.3, 0.49999, 0.50001, 1.0, 3.0, 30.0, 1e3])
def test_gaussian_delta_holds_from_the_centre_to_the_far_tail(mu):
    for a in (-30.0, -4.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 3.99, 4.01, 8.0, 20.0, 36.0):
        epsilon = mu * (a + mu / 2)
        if epsilon < 0:
            continue
        true = gaussian_delta(mu, epsilon)
        got = gaussian.delta(mu, epsilon)
        assert got >= true
        assert off(got, true) < 1e-9


def test_delta_never_vanishes_while_there_is_a_difference():
    assert 0 < gaussian.delta(1e-4, 1e6) < 1e-300
    assert 0 < renyi.delta(1e-4, 1e6) < 1e-300
    assert gaussian.delta(0.0, 1.0) == renyi.delta(0.0, 1.0) == gaussian.delta(0.0, 0.0) == 0.0
    assert gaussian.epsilon(0.0, 1e-5) == renyi.epsilon(0.0, 1e-5) == 0.0


def test_epsilon_zero_is_total_variation():
    for mu in (1e-4, 0.1, 1.0, 10.0):
        true = 2 * mp.ncdf(mpf(mu) / 2) - 1
        assert off(gaussian.delta(mu, 0.0), true) < 1e-9
        assert off(gaussian.mu(0.0, float(true)), mpf(mu)) < 1e-9 or mu == 10.0  # there δ is 1 to seven digits


def test_renyi_matches_the_closed_form_on_the_safe_side():
    for epsilon, delta in BUDGETS + CORNERS:
        true = renyi_mu(epsilon, delta)
        got = renyi.mu(epsilon, delta)
        assert got <= true, (epsilon, delta)
        assert off(got, true) < 1e-9
    for mu, delta in RUNS + RUN_CORNERS:
        true = renyi_epsilon(mu, delta)
        got = renyi.epsilon(mu, delta)
        assert got >= true, (mu, delta)
        assert off(got, true) < 1e-9


def test_renyi_delta_matches_the_closed_form_on_the_safe_side():
    for mu, delta in RUNS:
        epsilon = renyi.epsilon(mu, delta)
        true = mp.exp(-((mpf(epsilon) / mu - mpf(mu) / 2) ** 2) / 2)
        got = renyi.delta(mu, epsilon)
        assert got >= true, (mu, epsilon)
        assert off(got, true) < 1e-9


def test_renyi_order_is_the_best_of_all_orders():
    for epsilon, delta in BUDGETS:
        order, budget = renyi.order(epsilon, delta)
        a = -mp.log(mpf(delta))
        root = mp.sqrt(a * (a + epsilon))
        assert off(order, 1 + (a + root) / epsilon) < 1e-9
        assert off(budget, epsilon + a - root) < 1e-9
        assert off(mp.sqrt(2 * mpf(budget) / order), renyi_mu(epsilon, delta)) < 1e-9

        def noise(q, a=a, epsilon=epsilon):
            return q / (epsilon - a / (q - 1))

        assert noise(mpf(order)) <= min(noise(mpf(order) * (1 + s)) for s in (mpf("1e-3"), mpf("-1e-6"), mpf("1e-6")))


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 0.76), (10, 0.88), (30, 0.93)])
def test_the_noise_that_the_gaussian_accountant_saves(epsilon, ratio):
    assert renyi.mu(epsilon, 1e-5) / gaussian.mu(epsilon, 1e-5) == pytest.approx(ratio, abs=0.005)


def test_gaussian_never_asks_for_more_noise_than_renyi():
    for epsilon, delta in BUDGETS + CORNERS:
        assert gaussian.mu(epsilon, delta) >= renyi.mu(epsilon, delta)
    for mu, delta in RUNS + RUN_CORNERS:
        assert gaussian.epsilon(mu, delta) <= renyi.epsilon(mu, delta)
