"""Equal blocks cost what one block costs: the certificate does not depend on the decomposition."""

import math
import random

import pytest

from expunge import accounting as acc
from reference import random_schedule


def thinner(block, parts):
    """The block as `parts` orthogonal ones, each clipped at C₁/√parts."""
    steps = tuple(acc.Step(s.step_size, s.weight_decay, s.clip / math.sqrt(parts), s.sigma) for s in block.steps)
    return [acc.Block(steps)] * parts


@pytest.mark.parametrize("parts", [2, 3, 4, 7, 100, 4096])
def test_equal_blocks_are_one_block(parts):
    for seed in range(20):
        gap, block = random_schedule(seed)
        constant = acc.Block(block.steps[-1:] * 5)
        for one in (block, constant):
            assert acc.mu(gap, thinner(one, parts)) == pytest.approx(acc.mu(gap, one), rel=1e-10)


def test_splitting_every_block_in_halves_changes_nothing():
    for seed in range(40):
        gap, block = random_schedule(seed)
        quarters = thinner(block, 4)
        halves = [half for quarter in quarters for half in thinner(quarter, 2)]
        assert acc.mu(gap, halves) == pytest.approx(acc.mu(gap, quarters), rel=1e-10)


def test_the_equal_split_is_the_worst_for_identical_schedules():
    rng = random.Random(1)
    for seed in range(60):
        gap, block = random_schedule(seed)
        count = rng.randint(2, 5)
        worst = acc.mu(gap, [block] * count)
        equal = acc.mu(gaps=[gap / math.sqrt(count)] * count, blocks=[block] * count)
        assert worst == pytest.approx(equal, rel=1e-11)
        for _ in range(30):
            parts = [rng.random() ** rng.choice([0.1, 1.0, 10.0]) for _ in range(count)]
            gaps = [gap * part / math.hypot(*parts) for part in parts]
            assert acc.mu(gaps=gaps, blocks=[block] * count) <= worst * (1 + 1e-12), (seed, parts)


def test_dimensions_do_not_matter():
    step = acc.Step(0.1, 1.0, 2.0, 0.5)
    assert acc.mu(1.0, [acc.Block((step,), 3), acc.Block((step,), 10**9)]) == acc.mu(1.0, [acc.Block((step,))] * 2)


def test_equal_blocks_need_the_noise_of_one_block():
    sigma = acc.sigma(2.0, 0.5, step_size=1e-4, weight_decay=100.0, clip=5000.0, steps=3)
    step = acc.Step(1e-4, 100.0, 5000.0 / math.sqrt(7), sigma)
    assert 2.0 * (1 - 1e-10) <= acc.mu(0.5, [acc.Block((step,) * 3)] * 7) <= 2.0
