"""Two scalar runs pushed apart at full clip all the time: the bound is reached, so no accountant can do better."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from expunge import accounting as acc
from reference import gaussian_delta, off

CASES = [  # gap, step size, weight decay, clip, sigma, steps
    (0.5, 1e-4, 100.0, 5000.0, 0.3, 1),
    (0.5, 1e-2, 5.0, 3.0, 0.3, 25),
    (2.0, 0.1, 0.0, 0.7, 1.0, 12),
    (1.0, 0.05, 2.0, 0.0, 0.2, 8),
    (0.0, 0.05, 2.0, 1.0, 0.2, 8),
    (3.0, 0.9, 1.0, 1e-3, 1.0, 3),
]


def laws(gap, step_size, decay, clip, sigma, steps):
    """Means of both runs, and their common standard deviation, step by step."""
    below, above, variance = -mpf(gap) / 2, mpf(gap) / 2, mpf(0)
    for _ in range(steps):
        below -= mpf(step_size) * (clip + mpf(decay) * below)
        above -= mpf(step_size) * (-clip + mpf(decay) * above)
        variance = (1 - mpf(step_size) * decay) ** 2 * variance + mpf(sigma) ** 2
    return below, above, mp.sqrt(variance)


@pytest.mark.parametrize("case", CASES)
def test_the_adversary_reaches_the_exact_privacy_curve(case):
    gap, step_size, decay, clip, sigma, steps = case
    below, above, deviation = laws(*case)
    mu = acc.mu(gap, acc.Block((acc.Step(step_size, decay, clip, sigma),) * steps))
    true = (above - below) / deviation
    assert mu >= true
    assert off(mu, true) < 1e-9
    for epsilon in (0.0, 0.1, 1.0, 3.0, float(true) ** 2 / 2, float(true) ** 2 / 2 + 4 * float(true)):
        curve = gaussian_delta(true, epsilon)
        assert acc.gaussian.delta(mu, epsilon) >= curve
        assert curve < 1e-300 or off(acc.gaussian.delta(mu, epsilon), curve) < 1e-9


def test_the_adversary_reaches_it_in_every_equal_block_at_once():
    gap, step_size, decay, clip, sigma, steps = CASES[1]
    count = 9
    block = acc.Block((acc.Step(step_size, decay, clip / 3, sigma),) * steps)
    below, above, deviation = laws(gap / 3, step_size, decay, clip / 3, sigma, steps)
    assert off(acc.mu(gap, [block] * count), mp.sqrt(count) * (above - below) / deviation) < 1e-9


def test_the_adversary_wins_as_often_as_certified_and_no_oftener():
    gap, step_size, decay, clip, sigma, steps = CASES[1]
    draws, rng = 400_000, np.random.default_rng(20240229)

    def run(start, push):
        x = np.full(draws, start)
        for _ in range(steps):
            x = x - step_size * (push + decay * x) + rng.normal(scale=sigma, size=draws)
        return x

    below, above = run(-gap / 2, clip), run(gap / 2, -clip)
    mu = acc.mu(gap, acc.Block((acc.Step(step_size, decay, clip, sigma),) * steps))
    _, _, deviation = laws(*CASES[1])
    for epsilon in (0.0, 0.5, 1.5):
        threshold = epsilon / mu * float(deviation)  # where the likelihood ratio is e^ε
        hits, false = (above > threshold).mean(), (below > threshold).mean()
        observed = hits - math.exp(epsilon) * false
        spread = math.sqrt((hits * (1 - hits) + math.exp(2 * epsilon) * false * (1 - false)) / draws)
        assert observed == pytest.approx(acc.gaussian.delta(mu, epsilon), abs=5 * spread)
