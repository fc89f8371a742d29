"""Google's dp-accounting, written by other people, on the same Gaussian mechanism."""

import random

import dp_accounting
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from dp_accounting.pld import privacy_loss_distribution, privacy_loss_mechanism
from dp_accounting.rdp import rdp_privacy_accountant

from expunge import accounting as acc
from reference import log_uniform

RNG = random.Random(11)
RUNS = [(log_uniform(RNG, 1e-2, 30.0), log_uniform(RNG, 1e-12, 0.05)) for _ in range(60)]


def test_epsilon_is_the_one_of_their_analytic_formula():
    for mu, delta in RUNS:
        assert acc.gaussian.epsilon(mu, delta) == pytest.approx(
            gaussian_mechanism.get_epsilon_gaussian(1 / mu, delta), rel=1e-8, abs=1e-9
        )


def test_sigma_of_output_perturbation_is_the_one_of_their_calibration():
    still = {"step_size": 0.0, "weight_decay": 0.0, "clip": 0.0, "steps": 1}
    for mu, delta in RUNS:
        epsilon = 3.0 * mu
        theirs = gaussian_mechanism.get_sigma_gaussian(epsilon, delta)
        assert acc.sigma(acc.gaussian.mu(epsilon, delta), 1.0, **still) == pytest.approx(theirs, rel=1e-8)


def test_delta_is_the_one_of_their_privacy_loss():
    for mu, delta in RUNS:
        epsilon = acc.gaussian.epsilon(mu, delta)
        theirs = privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
        assert acc.gaussian.delta(mu, epsilon) == pytest.approx(theirs, rel=1e-6)  # theirs subtracts two near equals


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
def test_epsilon_lies_between_their_two_discretised_distributions(mu):
    for delta in (1e-8, 1e-5, 1e-2):
        above, below = (
            privacy_loss_distribution.from_gaussian_mechanism(
                1 / mu, pessimistic_estimate=pessimistic, value_discretization_interval=1e-3, use_connect_dots=False
            ).get_epsilon_for_delta(delta)
            for pessimistic in (True, False)
        )
        assert below <= acc.gaussian.epsilon(mu, delta) <= above
        assert above - below < 3e-3


def test_many_noisy_steps_compose_like_their_accountant():
    """λ = 0 and a gap that is hidden in equal shares: T Gaussian mechanisms of the same size."""
    steps, gap, sigma = 25, 2.0, 1.0
    ours = acc.recertified_epsilon(gap, acc.Block((acc.Step(0.1, 0.0, 0.0, sigma),) * steps), delta=1e-6)
    each = dp_accounting.GaussianDpEvent(sigma * steps / gap)
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(dp_accounting.SelfComposedDpEvent(each, steps))
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=2e-3)


def test_renyi_is_their_divergence_under_the_classical_conversion():
    orders = 1.0 + np.logspace(-3, 5, 6001)
    for mu, delta in RUNS:
        divergence = orders * mu**2 / 2
        ours = acc.renyi.epsilon(mu, delta)
        assert ours == pytest.approx((divergence + np.log(1 / delta) / (orders - 1)).min(), rel=1e-5)
        theirs, _ = rdp_privacy_accountant.compute_epsilon(orders, divergence, delta)
        assert ours >= theirs * (1 - 1e-12)
        assert theirs >= acc.gaussian.epsilon(mu, delta)
