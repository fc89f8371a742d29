"""What makes a run more private must never make its number worse."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from expunge import accounting as acc
from reference import random_schedule

ROUNDING = 1 + 2e-11
seeds = st.integers(0, 10**9)
growth = st.floats(1.0, 5.0)
quick = settings(deadline=None, max_examples=150)


def runs(seed):
    """One block, three equal ones, three different ones."""
    gap, block = random_schedule(seed)
    others = [random_schedule(seed + i)[1] for i in (1, 2)]
    return gap, ([block], [block] * 3, [block, *others])


def changed(blocks, **factors):
    def step(s):
        return acc.Step(*(getattr(s, n) * factors.get(n, 1.0) for n in ("step_size", "weight_decay", "clip", "sigma")))

    return [acc.Block(tuple(step(s) for s in block.steps)) for block in blocks]


@quick
@given(seeds, growth)
def test_a_larger_gap_never_costs_less(seed, factor):
    gap, choices = runs(seed)
    for blocks in choices:
        assert acc.mu(gap, blocks) <= acc.mu(gap * factor, blocks) * ROUNDING
        assert acc.mu(0.0, blocks) <= acc.mu(gap, blocks) * ROUNDING


@quick
@given(seeds, growth)
def test_more_noise_never_costs_more(seed, factor):
    gap, choices = runs(seed)
    for blocks in choices:
        assert acc.mu(gap, changed(blocks, sigma=factor)) * factor <= acc.mu(gap, blocks) * ROUNDING


@quick
@given(seeds, growth)
def test_a_larger_clip_never_costs_less(seed, factor):
    gap, choices = runs(seed)
    for blocks in choices:
        assert acc.mu(gap, blocks) <= acc.mu(gap, changed(blocks, clip=factor)) * ROUNDING


@quick
@given(seeds, st.integers(0, 8), growth)
def test_more_noise_in_one_step_never_costs_more(seed, index, factor):
    gap, block = random_schedule(seed)
    steps = list(block.steps)
    s = steps[index % len(steps)]
    steps[index % len(steps)] = acc.Step(s.step_size, s.weight_decay, s.clip, s.sigma * factor)
    assert acc.mu(gap, acc.Block(tuple(steps))) <= acc.mu(gap, block) * ROUNDING


@quick
@given(seeds, st.integers(1, 200))
def test_without_gradients_another_step_never_costs_more(seed, steps):
    step = random_schedule(seed)[1].steps[-1]
    still = acc.Step(step.step_size, step.weight_decay, 0.0, step.sigma)
    assert acc.mu(1.0, acc.Block((still,) * (steps + 1))) <= acc.mu(1.0, acc.Block((still,) * steps)) * ROUNDING


@quick
@given(st.floats(-9.0, 6.9), st.floats(-6.9, 13.8), st.floats(-34.0, -2.4), growth)
def test_conversions_are_monotone(log_mu, log_epsilon, log_delta, factor):
    mu, epsilon, delta = map(math.exp, (log_mu, log_epsilon, log_delta))
    for module in (acc.gaussian, acc.renyi):
        assert module.epsilon(mu, delta) <= module.epsilon(mu * factor, delta) * ROUNDING
        assert module.epsilon(mu, min(0.5, delta * factor)) <= module.epsilon(mu, delta) * ROUNDING
        assert module.mu(epsilon, delta) <= module.mu(epsilon * factor, delta) * ROUNDING
        assert module.delta(mu, epsilon * factor) <= module.delta(mu, epsilon) * ROUNDING


@quick
@given(seeds)
def test_scaling_gap_clip_and_noise_together_changes_nothing(seed):
    gap, choices = runs(seed)
    for blocks in choices:
        bigger = changed(blocks, clip=1e6, sigma=1e6)
        assert 1 / ROUNDING <= acc.mu(gap, blocks) / acc.mu(gap * 1e6, bigger) <= ROUNDING
