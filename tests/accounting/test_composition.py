"""Several runs: each way of adding, and what failures of the proximity add to δ."""

import math
import random

import pytest
from mpmath import mp, mpf

from expunge.accounting import composition
from expunge.errors import ConfigError
from reference import log_uniform, random_schedule


def test_squares_add_for_looks_and_costs_plainly_for_requests():
    mus = [random_schedule(i)[0] for i in range(50)]
    looks, requests = composition.several_looks(mus), composition.successive_requests(mus)
    assert looks == pytest.approx(math.sqrt(math.fsum(m * m for m in mus)), rel=1e-11)
    assert requests == pytest.approx(math.fsum(mus), rel=1e-11)
    assert looks >= math.sqrt(math.fsum(m * m for m in mus))
    assert requests >= math.fsum(mus)
    assert composition.several_looks([2.0] * 9) == pytest.approx(6.0)
    assert composition.successive_requests([2.0] * 9) == pytest.approx(18.0)


@pytest.mark.parametrize("compose", [composition.several_looks, composition.successive_requests])
@pytest.mark.parametrize("mus", [[], [-1.0], [math.nan], [1.0, math.inf], ["1"], [True]])
def test_what_is_no_cost_is_refused(compose, mus):
    with pytest.raises(ConfigError, match="mus"):
        compose(mus)


def seen_through(mu, p):
    """F_μ(p) = Φ(Φ⁻¹(p) + μ), the quantile by Newton in the tail."""
    p = mpf(p)
    x = -mp.sqrt(-2 * mp.log(p)) if p < mpf("0.5") else mpf(0)
    for _ in range(200):
        step = (mp.ncdf(x) - p) / mp.npdf(x)
        x -= max(min(step, mpf(1)), mpf(-1))
        if abs(step) < mpf("1e-45"):
            break
    return mp.ncdf(x + mpf(mu))


def failure_of(mus, failures):
    hops = list(zip(mus, failures, strict=True))
    return max(_from_one_end(hops), _from_one_end(hops[::-1]))


def _from_one_end(hops):
    total, before = mpf(0), mpf(0)
    for mu, failure in hops:
        total += seen_through(before, failure) if failure else 0
        before += mpf(mu)
    return total


@pytest.mark.parametrize("least", [1e-6, 1e-18])
def test_failures_of_later_requests_are_seen_through_the_earlier_ones_and_never_understated(least):
    rng = random.Random(2)
    for _ in range(150):
        count = rng.choice([2, 3])
        mus = [log_uniform(rng, 1e-3, 3.0) for _ in range(count)]
        failures = [rng.choice([0.0, log_uniform(rng, least, 0.4)]) for _ in range(count)]
        true, got = min(mpf(1), failure_of(mus, failures)), composition.successive_failure(mus, failures)
        assert got >= true * (1 - mpf("1e-15")), (mus, failures)
        assert got <= true * (1 + mpf("1e-7")), (mus, failures)


def test_one_request_fails_as_often_as_its_proximity():
    assert composition.successive_failure([3.0], [0.1]) == 0.1
    assert composition.successive_failure([1.0, 2.0], [0.0, 0.0]) == 0.0
    assert composition.successive_failure([9.0, 9.0], [0.5, 0.6]) == 1.0
    with pytest.raises(ConfigError, match="failures"):
        composition.successive_failure([1.0, 2.0], [0.1])
