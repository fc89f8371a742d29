"""Any schedule: the convex minorant against two independent ways to the same number."""

import random

import numpy as np
import pytest
import scipy.optimize
from mpmath import mp, mpf

from expunge import accounting as acc
from expunge.errors import BudgetError
from reference import drift, off, random_schedule, rate, schedule_mu

STILL = acc.Step(0.1, 2.0, 0.0, 0.0)  # contracts, no drift, no noise
PUSH = acc.Step(0.1, 2.0, 3.0, 0.0)
NOISE = acc.Step(0.1, 2.0, 3.0, 0.5)


def quadratic_programme(gap, steps):
    """Min ‖y‖² over the shifts a_t = σ_t y_t of the noisy steps, as non-negative least squares (Lawson and Hanson)."""
    noisy = [t for t, step in enumerate(steps) if step.sigma > 0]
    z, row, rows, floors = gap, np.zeros(len(noisy)), [], []
    for t, step in enumerate(steps):
        contraction = 1.0 - float(rate(step))
        z, row = contraction * z + float(drift(step)), contraction * row
        if t in noisy:
            row = row - step.sigma * np.eye(len(noisy))[noisy.index(t)]
        rows.append(row)
        floors.append(-z)
    g, h = np.array([*rows, -rows[-1]]), np.array([*floors, -floors[-1]])
    target = np.zeros(len(noisy) + 1)
    target[-1] = 1.0
    system = np.vstack([g.T, h])
    weights, _ = scipy.optimize.nnls(system, target, maxiter=10_000)
    rest = system @ weights - target
    return np.linalg.norm(rest[:-1] / rest[-1])


@pytest.mark.parametrize("seed", range(150))
def test_the_convex_minorant_is_the_optimum_of_the_quadratic_programme(seed):
    gap, block = random_schedule(seed)
    assert acc.mu(gap, block) == pytest.approx(quadratic_programme(gap, block.steps), rel=1e-6)


def test_the_convex_minorant_is_the_one_by_definition_and_never_below():
    for seed in range(300):
        gap, block = random_schedule(seed, longest=30, noisy=0.5)
        true = schedule_mu(gap, block.steps)
        got = acc.mu(gap, block)
        assert got >= true, seed
        assert off(got, true) < 3e-12, seed


def test_several_segments_are_really_needed_in_these_tests():
    """One segment is Cauchy–Schwarz; the tests above would be weak if that were all."""
    above = 0
    for seed in range(100):
        gap, block = random_schedule(seed)
        parts = acc.mu(gap, [block, acc.Block((acc.Step(0, 0, 0, 1e40),))])  # bound by the sum of two policies
        above += parts > acc.mu(gap, block) * (1 + 1e-6)
    assert above > 20


def test_leading_steps_without_noise_only_hand_on_their_drift():
    for lead in ([PUSH], [STILL], [PUSH, STILL, PUSH]):
        steps = (*lead, NOISE, acc.Step(0.2, 1.0, 1.0, 0.3))
        assert off(acc.mu(1.5, acc.Block(steps)), schedule_mu(1.5, steps)) < 3e-12


def test_contraction_after_the_last_noise_is_harmless():
    ended = acc.Block((PUSH, NOISE, acc.Step(0.2, 1.0, 1.0, 0.3)))
    later = acc.Block((*ended.steps, STILL, STILL, acc.Step(0.0, 3.0, 7.0, 0.0)))
    assert acc.mu(1.5, later) == pytest.approx(acc.mu(1.5, ended), rel=1e-14)


@pytest.mark.parametrize("tail", [(PUSH,), (STILL, PUSH), (PUSH, STILL)])
def test_drift_after_the_last_noise_is_refused(tail):
    block = acc.Block((NOISE, *tail))
    for run in (block, [block, acc.Block((NOISE,))], [block, block]):
        with pytest.raises(BudgetError, match=r"no noise follows"):
            acc.mu(1.0, run)
    with pytest.raises(BudgetError, match=r"no noise follows"):
        acc.mu(gaps=[0.0], blocks=[block])


@pytest.mark.parametrize("steps", [(STILL,), (STILL, STILL), (PUSH,), (PUSH, STILL), (STILL, *(PUSH,) * 3)])
def test_a_block_without_noise_is_refused(steps):
    with pytest.raises(BudgetError):
        acc.mu(1.0, acc.Block(steps))


def test_a_block_without_noise_gap_and_drift_costs_nothing():
    for steps in ((STILL,), (STILL, acc.Step(0.1, 1.0, 0.0, 0.0))):
        assert acc.mu(0.0, acc.Block(steps)) == 0.0


@pytest.mark.parametrize("clip", [0.0, 1e-3, 5.0])
def test_a_forgotten_beginning_never_understates(clip):
    """0.9^20000 is far below every float."""
    rng = random.Random(7)
    kinds = [acc.Step(0.1, 1.0, clip, rng.choice([0.0, 0.5, 2.0])) for _ in range(5)]
    steps = (*(rng.choice(kinds) for _ in range(19_999)), acc.Step(0.1, 1.0, clip, 0.5))
    got = acc.mu(3.0, acc.Block(steps))
    true = schedule_mu(0.0, steps[-400:])  # 0.9^400 < 1e-18 of anything
    assert got == pytest.approx(float(true), rel=1e-8, abs=1e-90)
    assert got >= true * (1 - 1e-15)


@pytest.mark.parametrize("decay", [0.0, 1e-6, 1e-3])
def test_forty_thousand_steps_do_not_drift_below_the_truth(decay):
    a, b = acc.Step(0.1, decay, 1.0, 0.7), acc.Step(0.3, decay, 1.0, 2.1)
    got = acc.mu(2.0, acc.Block((a, b) * 20_000))
    with mp.workdps(20):
        z, noise = mpf(2), mpf(0)
        for _ in range(20_000):
            for step in (a, b):
                r = 1 - rate(step)
                z, noise = r * z + drift(step), r * r * noise + mpf(step.sigma) ** 2
        single_segment = z / mp.sqrt(noise)
    assert got >= single_segment * (1 - mpf("1e-14"))
    assert off(got, single_segment) < 1e-6
