"""What failing proximities add to δ over two requests: the formula against the worst two hops there are.

x₂ ← y₁ ← y₂: the first hop is μ₁-GDP except with probability ϱ₁, the second μ₂-GDP except with ϱ₂. With
F_μ(p) = Φ(Φ⁻¹(p) + μ), a set of probability r under y₂ has at most ϱ₂ + F_{μ₂}(r) under y₁, and what has p under y₁
has at most ϱ₁ + F_{μ₁}(p) under x₂.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from expunge import accounting as acc

MUS, FAILURES = st.floats(0.05, 4.0), st.floats(1e-9, 0.3)
REACH = np.linspace(-12.0, 12.0, 4001)  # Φ⁻¹ of the reference's probability


def grown(p, mu):
    return ndtr(ndtri(p) + mu)


def needed(mus, failures, epsilon):
    """The δ that the worst chain needs at ε: sup over r of P(r) − e^ε r, hop by hop from the reference."""
    r = np.concatenate([[0.0], ndtr(REACH)])
    p = r
    for mu, failure in reversed(list(zip(mus, failures, strict=True))):
        p = np.minimum(1.0, failure + grown(p, mu))
    return np.max(p - np.exp(epsilon) * r)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(MUS, FAILURES), min_size=1, max_size=4), st.floats(0.0, 12.0))
def test_the_formula_covers_the_worst_chain_in_both_directions(hops, epsilon):
    mus, failures = zip(*hops, strict=True)
    promised = acc.gaussian.delta(sum(mus), epsilon) + acc.composition.successive_failure(mus, failures)
    for order in (1, -1):
        assert needed(mus[::order], failures[::order], epsilon) <= promised * (1 + 1e-9) + 1e-15


@settings(max_examples=50, deadline=None)
@given(MUS, FAILURES, MUS, FAILURES)
def test_at_a_huge_epsilon_nothing_smaller_would_do(mu1, failure1, mu2, failure2):
    both = [needed(*zip(*hops, strict=True), 100.0) for hops in (((mu1, failure1), (mu2, failure2)),) * 1]
    both += [needed((mu2, mu1), (failure2, failure1), 100.0)]
    assert acc.composition.successive_failure([mu1, mu2], [failure1, failure2]) == pytest.approx(max(both), rel=1e-6)


@pytest.mark.parametrize(("mu", "failure"), [(0.5, 0.05), (2.0, 0.01), (3.0, 0.001)])
def test_plain_addition_of_failures_would_be_unsafe(mu, failure):
    """An outcome that only the failing second proximity allows, in the tail that the first hop raises most."""
    normals = np.random.default_rng(0).standard_normal(2_000_000)
    tail = -ndtri(failure)
    seen = np.mean(normals + mu > tail)  # under x₂ = N(μ, 1); the reference never shows it, y₁ = N(0, 1) with `failure`
    spread = 5 * np.sqrt(seen / len(normals))
    promised = acc.composition.successive_failure([mu, mu], [0.0, failure])
    assert seen > 2 * failure
    assert promised == pytest.approx(seen, abs=spread)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), MUS, FAILURES, MUS, FAILURES, st.floats(0.0, 8.0))
def test_no_random_chain_of_gaussians_with_failures_beats_the_formula(seed, mu1, failure1, mu2, failure2, epsilon):
    """Mixtures on a line: shifts within μ, and failing mass put anywhere, judged on every half-line and its complement."""
    dice = np.random.default_rng(seed)
    places = dice.uniform(-6, 6, 3)
    cells = np.linspace(-9, 9, 121)

    def moved(mass, mu):  # each point of mass is Gaussian about its place, moved by at most μ, either way
        return mass + dice.choice([-1, 1]) * mu * dice.uniform(0.5, 1.0)

    def cdf(centres, weights):
        return (weights[:, None] * ndtr(cells[None] - centres[:, None])).sum(0)

    centre = dice.uniform(-1, 1)
    reference = cdf(np.array([centre, places[0]]), np.array([1 - failure2, failure2]))
    middle = moved(centre, mu2)
    last = cdf(
        np.array([moved(middle, mu1), places[1] + np.sign(places[1]) * mu1, places[2]]),
        np.array([(1 - failure1) * (1 - failure2), (1 - failure1) * failure2, failure1]),
    )
    promised = acc.gaussian.delta(mu1 + mu2, epsilon)
    promised += acc.composition.successive_failure([mu1, mu2], [failure1, failure2])
    for p, r in ((last, reference), (1 - last, 1 - reference)):
        assert np.max(p - np.exp(epsilon) * r) <= promised + 1e-12
        assert np.max(r - np.exp(epsilon) * p) <= promised + 1e-12
