"""Several blocks: the worst place for the gap, against the secular equation at 60 digits and against a plain ascent."""

import math
import random

import numpy as np
import pytest

from expunge import accounting as acc
from reference import geometric, log_uniform, off, random_schedule, random_step, schedule_mu, worst_split_mu


def blocks_of(runs):
    return [acc.Block((step,) * steps) for step, steps in runs]


def random_runs(seed, most=6):
    """The shape of the published vectors."""
    rng = random.Random(seed)
    runs = []
    for _ in range(rng.randint(2, most)):
        step_size = log_uniform(rng, 1e-4, 0.1)
        decay, clip = rng.choice([0.0, rng.uniform(0.0, 9.0)]), rng.choice([0.0, log_uniform(rng, 0.1, 100.0)])
        runs.append((acc.Step(step_size, decay, clip, log_uniform(rng, 0.01, 2.0)), rng.randint(1, 5)))
    return log_uniform(rng, 0.05, 3.0), runs


def ascent(gap, runs, seed):
    """Climb from random points of the sphere; each step goes where the gradient points, which cannot go down."""
    sums = [geometric(*run) for run in runs]
    slope = np.array([float(u) / (s.sigma * math.sqrt(n)) for (s, _), (u, _, n) in zip(runs, sums, strict=True)])
    start = np.array([float(w) / (s.sigma * math.sqrt(n)) for (s, _), (_, w, n) in zip(runs, sums, strict=True)])
    split = np.abs(np.random.default_rng(seed).normal(size=(20, len(runs))))
    for _ in range(3000):
        split *= gap / np.linalg.norm(split, axis=1, keepdims=True)
        split = slope * (slope * split + start)
    split *= gap / np.linalg.norm(split, axis=1, keepdims=True)
    return np.sqrt(((slope * split + start) ** 2).sum(axis=1)).max()


def test_unequal_blocks_match_the_secular_equation_and_are_never_below():
    for seed in range(150):
        gap, runs = random_runs(seed)
        true, got = worst_split_mu(gap, runs), acc.mu(gap, blocks_of(runs))
        assert got >= true, seed
        assert off(got, true) < 1e-10, seed


def test_unequal_blocks_match_a_numeric_optimum_over_the_sphere():
    for seed in range(60):
        gap, runs = random_runs(seed)
        best = ascent(gap, runs, seed)
        assert best <= acc.mu(gap, blocks_of(runs)) <= best * (1 + 1e-4), seed


@pytest.mark.parametrize("gap", [1e-6, 0.3, 1.0, 50.0])
@pytest.mark.parametrize("count", [1, 3])
def test_hard_case_where_the_most_sensitive_blocks_have_no_drift(gap, count):
    top = (acc.Step(0.1, 0.0, 0.0, 0.5), 1)
    runs = [top] * count + [(acc.Step(0.1, 0.0, 2.0, 1.0), 1), (acc.Step(0.1, 1.0, 5.0, 1.5), 3)]
    true, got = worst_split_mu(gap, runs), acc.mu(gap, blocks_of(runs))
    assert got >= true
    assert off(got, true) < 1e-11


@pytest.mark.parametrize("clip", [1e-300, 1e-200, 1e-100, 1e-30, 1e-15, 1e-8])
def test_nearly_hard_case_is_as_exact(clip):
    runs = [(acc.Step(0.1, 0.0, clip, 0.5), 1), (acc.Step(0.1, 0.0, 2.0, 1.0), 1)]
    for gap in (1e-3, 0.1, 1.0, 50.0):
        true, got = worst_split_mu(gap, runs), acc.mu(gap, blocks_of(runs))
        assert got >= true
        assert off(got, true) < 1e-11


def test_blocks_that_differ_by_one_bit():
    runs = [(acc.Step(0.1, 1.0, 2.0, s), 2) for s in (1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0))]
    got = acc.mu(0.5, blocks_of(runs))
    assert got >= worst_split_mu(0.5, runs)
    assert got == pytest.approx(acc.mu(0.5, blocks_of([runs[0]] * 3)), rel=1e-11)


def test_without_a_gap_only_the_drifts_count():
    _, runs = random_runs(3)
    drifts = [acc.mu(0.0, block) for block in blocks_of(runs)]
    assert acc.mu(0.0, blocks_of(runs)) == pytest.approx(math.hypot(*drifts), rel=1e-11)


def test_known_gaps_are_a_sum_of_squares_below_the_worst_split():
    rng = random.Random(5)
    for seed in range(60):
        gap, runs = random_runs(seed)
        blocks = [random_schedule(rng.random())[1] for _ in range(3)] if seed % 2 else blocks_of(runs)
        parts = [rng.random() for _ in blocks]
        gaps = [gap * part / math.hypot(*parts) * (1 - 1e-15) for part in parts]
        known = acc.mu(gaps=gaps, blocks=blocks)
        assert known == pytest.approx(math.hypot(*map(acc.mu, gaps, blocks)), rel=1e-11)
        assert known <= acc.mu(gap, blocks)


def test_known_gaps_of_schedules_match_the_reference():
    for seed in range(40):
        runs = [random_schedule(100 * seed + i) for i in range(3)]
        got = acc.mu(gaps=[gap for gap, _ in runs], blocks=[block for _, block in runs])
        true = sum(schedule_mu(gap, block.steps) ** 2 for gap, block in runs) ** 0.5
        assert got >= true
        assert off(got, true) < 1e-10


def test_unequal_schedules_are_bounded_from_both_sides():
    """Above every split that one can try; and for a schedule that is constant in disguise, exact."""
    rng = random.Random(6)
    for seed in range(40):
        blocks = [random_schedule(1000 * seed + i)[1] for i in range(3)]
        bound = acc.mu(1.0, blocks)
        for _ in range(20):
            parts = [rng.random() ** 3 for _ in blocks]
            assert acc.mu(gaps=[part / math.hypot(*parts) for part in parts], blocks=blocks) <= bound * (1 + 1e-12)
    gap, runs = random_runs(8)
    still = acc.Step(0.0, 0.0, 1.0, 0.0)
    disguised = [acc.Block((*(step,) * steps, still)) for step, steps in runs]
    assert acc.mu(gap, disguised) == pytest.approx(acc.mu(gap, blocks_of(runs)), rel=1e-11)


def test_a_block_beside_one_that_nothing_can_trouble_is_bounded_by_it_alone():
    rng = random.Random(9)
    step = random_step(rng)
    alone = acc.mu(0.7, acc.Block((step,)))
    assert acc.mu(0.7, [acc.Block((step,)), acc.Block((acc.Step(0, 0, 0, 1e40),))]) == pytest.approx(alone, rel=1e-11)
