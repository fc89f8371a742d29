"""Sizes that a real run may have, in the time that was promised: processor time, as the machine has other work."""

import random
import time

from expunge import accounting as acc
from reference import log_uniform, off, random_step, worst_split_mu


def within(limit, call):
    """Whether one call of at most three is quick enough."""
    for _ in range(3):
        start = time.process_time()
        call()
        if time.process_time() - start < limit:
            return True
    return False


def unequal(count):
    rng = random.Random(0)
    return [(random_step(rng), rng.randint(1, 20)) for _ in range(count)]


def test_a_thousand_unequal_blocks_take_less_than_50_ms():
    blocks = [acc.Block((step,) * steps) for step, steps in unequal(1000)]
    assert within(0.05, lambda: acc.mu(1.0, blocks))


def test_a_thousand_unequal_blocks_of_schedules_take_less_than_50_ms():
    rng = random.Random(0)
    blocks = [acc.Block((random_step(rng), random_step(rng))) for _ in range(1000)]
    assert within(0.05, lambda: acc.mu(1.0, blocks))


def test_two_thousand_unequal_blocks_are_exact():
    runs = [(step, 1) for step, _ in unequal(2000)]
    got = acc.mu(1.0, [acc.Block((step,)) for step, _ in runs])
    true = worst_split_mu(1.0, runs)
    assert got >= true
    assert off(got, true) < 1e-9


def test_a_million_steps_take_less_than_two_seconds():
    rng = random.Random(0)
    kinds = [
        acc.Step(log_uniform(rng, 1e-6, 1e-4), rng.random(), rng.random(), rng.random() + 0.1) for _ in range(1000)
    ]
    block = acc.Block(tuple(kinds) * 1000)
    assert within(2.0, lambda: acc.mu(1.0, block))
    assert within(4.0, lambda: acc.mu(1.0, [block, acc.Block(block.steps[1:])]))


def test_a_million_equal_steps_take_no_time_to_speak_of():
    block = acc.Block((acc.Step(1e-4, 1.0, 1.0, 0.5),) * 10**6)
    assert within(0.2, lambda: acc.mu(1.0, block))
