"""Areas, rates and intervals against scikit-learn, SciPy and coin flips."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score, roc_curve

from expunge.audit import roc
from expunge.errors import DataError


def draw(seed, m=300, n=400, shift=0.5, digits=1):
    chance = np.random.default_rng(seed)
    return chance.normal(shift, size=m).round(digits), chance.normal(size=n).round(digits)  # with many ties


@pytest.mark.parametrize("seed", range(5))
def test_area_and_curve_are_those_of_scikit_learn(seed):
    members, others = draw(seed)
    truth, values = np.repeat([1, 0], [300, 400]), np.concatenate([members, others])
    assert roc.auc(members, others)[0] == pytest.approx(roc_auc_score(truth, values), rel=1e-12)
    fpr, tpr, _ = roc_curve(truth, values, drop_intermediate=False)
    mine = roc.curve(members, others)
    assert np.allclose(mine[0], fpr)
    assert np.allclose(mine[1], tpr)
    for rate in (0.01, 0.1):
        assert roc.tpr_at(members, others, rate) == pytest.approx(tpr[fpr <= rate].max())


def test_delongs_interval_covers_as_often_as_it_says():
    true, hits, rounds = norm.cdf(0.5 / np.sqrt(2)), 0, 600
    for seed in range(rounds):
        _, (low, high) = roc.auc(*draw(seed, 80, 120, digits=8))
        hits += low <= true <= high
    assert abs(hits / rounds - 0.95) < 5 * np.sqrt(0.95 * 0.05 / rounds)


def test_perfect_separation_is_no_certainty():
    area, (low, high) = roc.auc(np.arange(10.0) + 100, np.arange(20.0))
    assert (area, high) == (1.0, 1.0)
    assert low == pytest.approx(0.025 ** (1 / 10))
    area, (low, high) = roc.auc(np.zeros(10), np.zeros(20))
    assert area == 0.5
    assert low < 0.5 < high


@pytest.mark.parametrize(("count", "of"), [(0, 10), (3, 10), (10, 10), (17, 2000)])
def test_clopper_and_pearson_as_in_scipy(count, of):
    expected = binomtest(count, of).proportion_ci(0.95, method="exact")
    assert roc.binomial(count, of) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-15)


def test_a_rate_that_nothing_can_resolve_is_null():
    found = roc.measured(*draw(0, 300, 400))
    assert found["tpr_at_1"] is not None
    assert found["tpr_at_01"] is None
    assert found["tpr_at_01_interval"] is None
    assert roc.measured(*draw(0, 300, 1000))["tpr_at_01"] is not None


def test_the_drawn_curve_is_a_part_of_the_whole_and_short():
    members, others = draw(0, 20_000, 30_000, digits=8)
    whole = set(zip(*(column.tolist() for column in roc.curve(members, others)), strict=True))
    points = roc.thinned(*roc.curve(members, others))
    assert len(points) <= roc.POINTS + 1
    assert {tuple(point) for point in points} <= whole
    assert points[0][0] == 0.0
    assert points[-1] == [1.0, 1.0]
    assert sum(0 < x < 0.01 for x, _ in points) > 15  # logarithmic: the small rates are there


@pytest.mark.parametrize("wrong", [[], [[1.0]], [1.0, np.nan], [np.inf]])
def test_scores_that_are_none_are_refused(wrong):
    with pytest.raises(DataError, match="finite numbers"):
        roc.measured([1.0, 2.0], wrong)
