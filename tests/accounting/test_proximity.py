"""What n pairs say about the next one: by simulation, and by the binomial law."""

import math

import numpy as np
import pytest
import scipy.stats

from expunge.accounting import proximity
from expunge.errors import ConfigError, ProximityError


@pytest.mark.parametrize(("pairs", "rank"), [(10, 1), (10, 3), (25, 1), (25, 5), (1, 1)])
def test_the_next_gap_is_above_the_order_statistic_as_often_as_claimed(pairs, rank):
    draws = 200_000
    gaps = np.random.default_rng(pairs + rank).pareto(1.5, size=(draws, pairs + 1))
    bound = np.sort(gaps[:, :pairs], axis=1)[:, -rank]
    claim = proximity.order_statistic(list(range(pairs)), rank=rank).failure
    assert claim == rank / (pairs + 1)
    assert (gaps[:, pairs] > bound).mean() == pytest.approx(claim, abs=5 * math.sqrt(claim * (1 - claim) / draws))


def test_the_order_statistic_is_the_jth_largest():
    gaps = [0.3, 2.0, 1.0, 0.1]
    for rank, gap in enumerate(sorted(gaps, reverse=True), 1):
        found = proximity.order_statistic(gaps, rank=rank)
        assert (found.gap, found.failure) == (gap, rank / 5)
        assert "4 coupled pairs" in found.source
    assert gaps == [0.3, 2.0, 1.0, 0.1]


def test_a_safety_factor_is_recorded_and_buys_no_probability():
    plain = proximity.order_statistic([1.0, 2.0])
    widened = proximity.order_statistic([1.0, 2.0], safety_factor=1.5)
    assert (widened.gap, widened.failure) == (3.0, plain.failure)
    assert any("1.5" in note for note in widened.assumptions)
    assert not any("safety" in note for note in plain.assumptions)


def test_a_quantile_is_the_smallest_gap_that_supports_it():
    gaps = [float(i) for i in range(1, 20)]  # 19 pairs: j/20
    for failure, gap in ((0.05, 19.0), (0.0999, 19.0), (0.1, 18.0), (0.5, 10.0), (0.99, 1.0)):
        found = proximity.quantile(gaps, failure)
        assert found.gap == gap
        assert found.failure <= failure * (1 + 1e-9)


def test_a_quantile_that_falls_on_a_rank_is_that_rank_in_spite_of_rounding():
    gaps = [float(i) for i in range(1, 100)]
    for rank in range(1, 100):
        assert proximity.quantile(gaps, rank / 100).gap == 100.0 - rank


@pytest.mark.parametrize(("pairs", "failure"), [(10, 0.09), (10, 1e-3), (1, 0.49), (1, 1e-300)])
def test_too_few_pairs_support_nothing(pairs, failure):
    with pytest.raises(ProximityError, match=f"{pairs} pairs support"):
        proximity.quantile([1.0] * pairs, failure)


def test_pairs_needed_is_the_least_number_that_works():
    for failure in (0.5, 1 / 11, 0.1, 0.05, 1 / 3, 1e-3, 0.9):
        pairs = proximity.pairs_needed(failure)
        assert proximity.quantile([1.0] * pairs, failure).gap == 1.0
        if pairs > 1:
            with pytest.raises(ProximityError):
                proximity.quantile([1.0] * (pairs - 1), failure)
        for sure in (0.1, 0.5, 0.95, 0.999):
            pairs = proximity.pairs_needed(failure, confidence=sure)
            assert proximity.confidence(pairs, failure) >= sure * (1 - 1e-12)
            assert pairs == 1 or proximity.confidence(pairs - 1, failure) < sure


def test_confidence_is_the_binomial_law():
    for pairs in (1, 2, 10, 57, 1000):
        for failure in (1e-6, 0.01, 1 / 11, 0.5, 0.99):
            for rank in {1, 2, pairs // 2, pairs} - {0}:
                if rank <= pairs:
                    true = scipy.stats.binom.sf(rank - 1, pairs, failure)
                    assert proximity.confidence(pairs, failure, rank=rank) == pytest.approx(true, abs=1e-11)
    assert proximity.confidence(10, 1 / 11) == pytest.approx(1 - (10 / 11) ** 10)
    assert proximity.confidence(10, 1 / 11) == pytest.approx(0.61, abs=0.005)


def test_confidence_covers_as_often_as_claimed():
    pairs, failure, draws = 20, 0.1, 200_000
    uniform = np.random.default_rng(5).random((draws, pairs))
    for rank in (1, 2):
        covered = (np.sort(uniform, axis=1)[:, -rank] >= 1 - failure).mean()
        claim = proximity.confidence(pairs, failure, rank=rank)
        assert covered == pytest.approx(claim, abs=5 * math.sqrt(claim * (1 - claim) / draws))


@pytest.mark.parametrize("gaps", [[], [-1.0], [1.0, math.nan], [math.inf], ["1"], [True], [None]])
def test_what_is_no_gap_is_refused(gaps):
    with pytest.raises(ConfigError, match="gaps"):
        proximity.order_statistic(gaps)
    with pytest.raises(ConfigError, match="gaps"):
        proximity.quantile(gaps, 0.5)


@pytest.mark.parametrize(
    "keyword", [{"rank": 0}, {"rank": 3}, {"rank": 1.5}, {"safety_factor": 0.9}, {"safety_factor": math.nan}]
)
def test_what_is_no_choice_is_refused(keyword):
    with pytest.raises(ConfigError, match=next(iter(keyword))):
        proximity.order_statistic([1.0, 2.0], **keyword)


@pytest.mark.parametrize("failure", [0.0, 1e-310, 1.0, -0.1, math.nan, "0.1"])
def test_what_is_no_probability_is_refused(failure):
    for call in (lambda: proximity.quantile([1.0], failure), lambda: proximity.pairs_needed(failure)):
        with pytest.raises(ConfigError, match="failure"):
            call()
