"""Values that no honest run has, but that a Step accepts: a number or a reason, never another error."""

import contextlib
import math
import random

import pytest

from expunge import accounting as acc
from expunge.errors import ConfigError, ExpungeError
from reference import log_uniform


class Extremes:
    """Draws from the corners of what is accepted."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def power(self, most):
        return log_uniform(self.rng, 10.0**-most, 10.0 ** min(most, 40))

    def value(self):
        return self.rng.choice([0.0, self.power(300), self.power(40), self.power(3)])

    def block(self):
        steps = []
        while len(steps) < self.rng.choice([1, 2, 3]):
            with contextlib.suppress(ConfigError):  # γλ ≥ 1
                steps.append(acc.Step(*(self.value() for _ in range(4))))
        return acc.Block(tuple(steps))

    def schedule(self):
        return {name: self.value() for name in ("step_size", "weight_decay", "clip")}

    def budget(self):
        return {"epsilon": self.value(), "delta": log_uniform(self.rng, 1e-300, 0.9)}


CALLS = {
    "mu of one block": lambda x: acc.mu(x.value(), x.block()),
    "mu of three blocks": lambda x: acc.mu(x.value(), [x.block() for _ in range(3)]),
    "mu of known gaps": lambda x: acc.mu(gaps=[x.value(), x.value()], blocks=[x.block(), x.block()]),
    "sigma": lambda x: acc.sigma(x.value(), x.value(), **x.schedule(), steps=x.rng.choice([1, 10, 10**9, 10**18])),
    "best steps": lambda x: acc.best_steps(x.value(), **x.schedule()),
    "scale noise": lambda x: acc.scale_noise(x.value(), x.value(), [x.block(), x.block()]),
    "allocate": lambda x: acc.allocate(
        x.value(), [x.block(), x.block()], gaps=[x.value(), x.value()], dimensions=[1, 10]
    ),
    "largest gap": lambda x: acc.largest_gap([x.block(), x.block()], **x.budget()),
    "sigma_min": lambda x: acc.paper.minimal_sigma(x.value(), **x.schedule(), **x.budget()),
    "sigma_at": lambda x: acc.paper.sigma_at(x.value(), x.value(), **x.schedule(), **x.budget()),
    "initialization": lambda x: acc.paper.initialization(
        x.value(), 3, step_size=x.value(), weight_decay=x.value(), **x.budget()
    ),
    "budget after": lambda x: acc.paper.budget_after(x.value(), x.value(), **x.budget()),
    "gaussian mu": lambda x: acc.gaussian.mu(**x.budget()),
    "gaussian epsilon": lambda x: acc.gaussian.epsilon(x.value(), x.budget()["delta"]),
    "gaussian delta": lambda x: acc.gaussian.delta(x.value(), x.value()),
    "renyi mu": lambda x: acc.renyi.mu(**x.budget()),
    "renyi epsilon": lambda x: acc.renyi.epsilon(x.value(), x.budget()["delta"]),
    "renyi delta": lambda x: acc.renyi.delta(x.value(), x.value()),
    "renyi order": lambda x: acc.renyi.order(**x.budget()),
    "looks": lambda x: acc.composition.several_looks([x.value(), x.value()]),
    "requests": lambda x: acc.composition.successive_requests([x.value(), x.value()]),
}


@pytest.mark.parametrize("name", CALLS)
def test_extreme_values_give_a_number_or_a_reason(name):
    for seed in range(1500):
        try:
            result = CALLS[name](Extremes(seed))
        except ExpungeError:
            continue
        numbers = result if isinstance(result, tuple) else (result,)
        assert all(0 <= n < math.inf for n in numbers if isinstance(n, float)), (seed, result)


@pytest.mark.parametrize("steps", [10**18, 10**300, 10**400], ids=["1e18", "1e300", "1e400"])
def test_a_number_of_steps_beyond_every_float_is_refused_or_forgets_all(steps):
    settled = 2 * 2.0 / 1.0 * math.sqrt(0.1 * 1.9)
    try:
        got = acc.sigma(1.0, 1.0, step_size=0.1, weight_decay=1.0, clip=2.0, steps=steps)
    except ConfigError:
        return
    assert got == pytest.approx(settled)
