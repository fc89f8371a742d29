"""Every solver, fed back: what it returns fits in the budget, and only just."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expunge import accounting as acc
from expunge.errors import BudgetError
from reference import log_uniform, random_schedule


def scale(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


schedules = st.fixed_dictionaries(
    {
        "step_size": scale(1e-5, 0.1),
        "weight_decay": st.one_of(st.just(0.0), scale(1e-9, 9.0)),
        "clip": st.one_of(st.just(0.0), scale(1e-3, 1e4)),
    }
)


@settings(deadline=None, max_examples=300)
@given(
    schedules,
    scale(1e-6, 1e3),
    st.integers(1, 300),
    scale(1e-3, 1e6),
    scale(1e-15, 0.1),
    st.sampled_from(["gaussian", "renyi"]),
)
def test_sigma_gives_back_epsilon(schedule, gap, steps, epsilon, delta, accountant):
    module = getattr(acc, accountant)
    sigma = acc.sigma(module.mu(epsilon, delta), gap, **schedule, steps=steps)
    run = acc.Block((acc.Step(**schedule, sigma=sigma),) * steps)
    again = acc.recertified_epsilon(gap, run, delta=delta, accountant=accountant)
    assert epsilon * (1 - 1e-6) < again <= epsilon


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), scale(1e-4, 1e3))
def test_scaled_noise_just_fits(seed, mu):
    gap, block = random_schedule(seed)
    _, other = random_schedule(seed + 1)
    for run in ([block], [block] * 3, [block, other]):
        got = acc.mu(gap, acc.scale_noise(mu, gap, run))
        assert mu * (1 - 1e-9) < got <= mu


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), scale(1e-2, 1e3), scale(1e-10, 0.1), st.sampled_from(["gaussian", "renyi"]))
def test_largest_gap_just_fits(seed, epsilon, delta, accountant):
    _, block = random_schedule(seed)
    run = [block, random_schedule(seed + 1)[1]] if seed % 2 else block
    budget = {"epsilon": epsilon, "delta": delta, "accountant": accountant}
    try:
        gap = acc.largest_gap(run, **budget)
    except BudgetError:
        assert acc.recertified_epsilon(0.0, run, delta=delta, accountant=accountant) > epsilon
        return
    assert acc.recertified_epsilon(gap, run, delta=delta, accountant=accountant) <= epsilon
    assert acc.recertified_epsilon(gap * (1 + 1e-6) + 1e-12, run, delta=delta, accountant=accountant) > epsilon


def test_largest_gap_of_a_run_that_forgets_every_gap_is_an_answer_or_a_budget_error():
    """0.9^20000 of any start is nothing: every representable gap fits."""
    run = acc.Block((acc.Step(0.1, 1.0, 0.1, 1.0),) * 20_000)
    assert acc.mu(1e40, run) < 0.1
    assert acc.largest_gap(run, epsilon=10.0, delta=1e-5) >= 1e39


def test_best_steps_is_beaten_by_no_other_number():
    rng = random.Random(3)
    for _ in range(120):
        step_size, gap, best_real = (
            log_uniform(rng, 1e-5, 0.1),
            log_uniform(rng, 1e-3, 10.0),
            log_uniform(rng, 0.05, 200.0),
        )
        decay = rng.choice([0.0, log_uniform(rng, 1e-6, 9.0)])
        shrink = -math.expm1(best_real * math.log1p(-step_size * decay))
        clip = decay * gap / 2 / shrink if shrink > 1e-12 else gap / (2 * step_size * best_real)
        schedule = {"step_size": step_size, "weight_decay": decay, "clip": clip}
        best = acc.best_steps(gap, **schedule)
        least = acc.sigma(1.0, gap, **schedule, steps=best)
        rivals = [*range(max(1, best - 30), best + 31), *(int(log_uniform(rng, 1, 1e6)) for _ in range(30))]
        assert all(acc.sigma(1.0, gap, **schedule, steps=steps) >= least * (1 - 1e-12) for steps in rivals)
        assert abs(best - acc.paper.optimal_steps(gap, **schedule)) < 1 or best == 1


def test_best_steps_at_the_papers_setting_is_one():
    schedule = {"step_size": 1e-4, "weight_decay": 100.0, "clip": 5000.0}
    assert acc.best_steps(0.5, **schedule) == 1
    assert acc.best_steps(0.0, **schedule) == 1


@pytest.mark.parametrize(("decay", "clip"), [(10.0, 1.0), (10.0, 0.5), (1.0, 0.0), (0.0, 0.0)])
def test_there_is_no_best_number_of_steps_where_noise_only_falls(decay, clip):
    with pytest.raises(BudgetError, match="Give steps"):
        acc.best_steps(0.2, step_size=0.01, weight_decay=decay, clip=clip)
