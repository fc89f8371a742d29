"""Noise for known gaps: the closed form against a numeric optimum, and against one σ for all."""

import math
import random

import numpy as np
import pytest
import scipy.optimize

from expunge import accounting as acc
from reference import log_uniform, random_schedule


def energy(blocks, dimensions, weights):
    """Σ w r Σσ² over the steps."""
    return sum(
        w * r * sum(s.sigma**2 for s in block.steps) for block, r, w in zip(blocks, dimensions, weights, strict=True)
    )


def one_step_blocks(seed):
    rng = random.Random(seed)
    count = rng.randint(2, 5)
    blocks = [acc.Block((acc.Step(0.1, 1.0, rng.choice([0.0, rng.random()]), 1.0),)) for _ in range(count)]
    gaps = [log_uniform(rng, 0.01, 2.0) for _ in blocks]
    dimensions = [rng.randint(1, 10**5) for _ in blocks]
    weights = rng.choice([None, [log_uniform(rng, 0.1, 10.0) for _ in blocks]])
    return blocks, {"gaps": gaps, "dimensions": dimensions, "weights": weights}


@pytest.mark.parametrize("seed", range(40))
def test_allocation_is_the_numeric_optimum(seed):
    blocks, known = one_step_blocks(seed)
    needs = np.array([acc.mu(gaps=[gap], blocks=[b]) for gap, b in zip(known["gaps"], blocks, strict=True)])
    prices = np.array(known["dimensions"], dtype=float) * (known["weights"] or 1.0)
    mu = 1.7

    def cost(logs):  # logs of the shares (e_i/σ_i)²/μ², up to their sum
        shares = np.exp(logs - logs.max())
        return math.log((prices * needs**2 * shares.sum() / (shares * mu**2)).sum())

    found = min(
        scipy.optimize.minimize(cost, np.random.default_rng(i).normal(size=len(blocks)), method="BFGS").fun
        for i in range(3)
    )
    given = acc.allocate(mu, blocks, **known)
    assert energy(given, known["dimensions"], known["weights"] or [1.0] * len(blocks)) == pytest.approx(
        math.exp(found), rel=1e-6
    )


def test_allocation_just_fits_and_is_never_worse_than_one_sigma():
    for seed in range(100):
        blocks, known = one_step_blocks(seed)
        mu = log_uniform(random.Random(seed), 1e-3, 1e2)
        given = acc.allocate(mu, blocks, **known)
        assert mu * (1 - 1e-9) < acc.mu(gaps=known["gaps"], blocks=given) <= mu
        common = acc.mu(gaps=known["gaps"], blocks=blocks) / mu
        prices = known["dimensions"], known["weights"] or [1.0] * len(blocks)
        assert energy(given, *prices) <= energy([b.with_noise(common) for b in blocks], *prices) * (1 + 1e-9)


def test_schedules_keep_their_shape_and_just_fit():
    for seed in range(40):
        runs = [random_schedule(10 * seed + i) for i in range(3)]
        gaps, blocks = [gap for gap, _ in runs], [block for _, block in runs]
        given = acc.allocate(0.9, blocks, gaps=gaps, dimensions=[5, 50, 500])
        assert 0.9 * (1 - 1e-9) < acc.mu(gaps=gaps, blocks=given) <= 0.9
        for old, new in zip(blocks, given, strict=True):
            factor = new.steps[-1].sigma / old.steps[-1].sigma
            assert [s.sigma for s in new.steps] == pytest.approx([s.sigma * factor for s in old.steps])


def test_without_gradients_variance_follows_gap_over_root_dimension():
    gaps, dimensions = [0.1, 0.4, 2.0], [10, 1000, 50]
    still = acc.Block((acc.Step(0.0, 0.0, 0.0, 1.0),))
    given = acc.allocate(1.0, [still] * 3, gaps=gaps, dimensions=dimensions)
    ratios = [b.steps[0].sigma ** 2 / (gap / math.sqrt(r)) for b, gap, r in zip(given, gaps, dimensions, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * 3)


def test_a_block_with_nothing_to_hide_gets_no_noise():
    still = acc.Block((acc.Step(0.1, 1.0, 0.0, 1.0),))
    given = acc.allocate(1.0, [still, still], gaps=[0.0, 1.0], dimensions=[5, 5])
    assert given[0].steps[0].sigma == 0.0
    assert acc.mu(gaps=[0.0, 1.0], blocks=given) <= 1.0
