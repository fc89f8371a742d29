"""What makes no sense is refused with the name and the value; never a number, never another error."""

import math

import pytest

from expunge import accounting as acc
from expunge.errors import ConfigError, ExpungeError

GOOD = {"step_size": 0.1, "weight_decay": 1.0, "clip": 2.0}
RUN = acc.Block((acc.Step(**GOOD, sigma=5.0),))
BUDGET = {"epsilon": 1.0, "delta": 1e-5}
NO_NUMBER = [math.nan, math.inf, -math.inf, -1.0, "1.0", True, None, [1.0], 1j, 10**400]

CALLS = {
    "step": (acc.Step, GOOD | {"sigma": 0.5}, ("step_size", "weight_decay", "clip", "sigma")),
    "mu": (acc.mu, {"gap": 1.0, "blocks": RUN}, ("gap",)),
    "sigma": (
        acc.sigma,
        GOOD | {"mu": 1.0, "gap": 1.0, "steps": 1},
        ("mu", "gap", "step_size", "weight_decay", "clip"),
    ),
    "best steps": (acc.best_steps, GOOD | {"gap": 1.0}, ("gap", "step_size", "weight_decay", "clip")),
    "scale noise": (acc.scale_noise, {"mu": 1.0, "gap": 1.0, "blocks": RUN}, ("mu", "gap")),
    "gaussian mu": (acc.gaussian.mu, BUDGET, ("epsilon", "delta")),
    "gaussian epsilon": (acc.gaussian.epsilon, {"mu": 1.0, "delta": 1e-5}, ("mu", "delta")),
    "gaussian delta": (acc.gaussian.delta, {"mu": 1.0, "epsilon": 1.0}, ("mu", "epsilon")),
    "renyi mu": (acc.renyi.mu, BUDGET, ("epsilon", "delta")),
    "renyi epsilon": (acc.renyi.epsilon, {"mu": 1.0, "delta": 1e-5}, ("mu", "delta")),
    "renyi delta": (acc.renyi.delta, {"mu": 1.0, "epsilon": 1.0}, ("mu", "epsilon")),
    "renyi order": (acc.renyi.order, BUDGET, ("epsilon", "delta")),
    "recertified": (acc.recertified_epsilon, {"gap": 1.0, "blocks": RUN, "delta": 1e-5}, ("gap", "delta")),
    "largest gap": (acc.largest_gap, {"blocks": RUN} | BUDGET, ("epsilon", "delta")),
    "unconditional": (acc.unconditional, {"delta": 1e-5, "failure": 0.1}, ("delta", "failure")),
    "sigma_min": (acc.paper.minimal_sigma, GOOD | BUDGET | {"gap": 1.0}, ("gap", *GOOD, *BUDGET)),
    "sigma_at": (acc.paper.sigma_at, GOOD | BUDGET | {"gap": 1.0, "steps": 3}, ("gap", "steps", *GOOD, *BUDGET)),
    "fresh start": (acc.paper.fresh_start_success, BUDGET | {"success": 0.9}, ("success", *BUDGET)),
    "budget after": (acc.paper.budget_after, BUDGET | {"gap": 1.0, "new_gap": 2.0}, ("gap", "new_gap", *BUDGET)),
}
CASES = [(call, good, name) for call, good, names in CALLS.values() for name in names]


@pytest.mark.parametrize(("call", "good", "name"), CASES)
def test_what_is_no_number_is_named(call, good, name):
    call(**good)
    for value in NO_NUMBER:
        if name == "gap" and value is None:
            continue  # mu takes gaps instead
        with pytest.raises(ConfigError, match=name) as caught:
            call(**(good | {name: value}))
        shown = "a huge integer" if value == 10**400 else repr(value)
        assert f"got {shown}" in str(caught.value), value


@pytest.mark.parametrize("delta", [0.0, 1.0, 1.5, -1e-5, 2])
def test_delta_lies_strictly_between_0_and_1(delta):
    for call, good, name in CASES:
        if name == "delta" and call is not acc.unconditional:
            with pytest.raises(ConfigError, match="delta must be"):
                call(**(good | {"delta": delta}))


@pytest.mark.parametrize("decay", [10.0, 10.1, 1e39])
def test_a_step_may_not_forget_more_than_everything(decay):
    for name in ("step", "sigma", "best steps", "sigma_min", "sigma_at"):
        call, good, _ = CALLS[name]
        with pytest.raises(ConfigError, match="step_size × weight_decay must be below 1"):
            call(**(good | {"weight_decay": decay}))


@pytest.mark.parametrize("steps", [0, -1, 1.0, 1.5, "best", "3", True, None])
def test_steps_are_a_whole_number(steps):
    with pytest.raises(ConfigError, match="steps must be a whole number"):
        acc.sigma(1.0, 1.0, **GOOD, steps=steps)


def test_blocks_and_gaps_belong_together():
    for arguments in ({}, {"gap": 1.0, "gaps": [1.0]}, {"gaps": []}, {"gaps": [1.0, 2.0]}):
        with pytest.raises(ConfigError, match="gap"):
            acc.mu(blocks=RUN, **arguments)
    for blocks in ((), [RUN, "block"], [acc.Step(**GOOD, sigma=1.0)]):
        with pytest.raises(ConfigError, match=r"[Bb]lock"):
            acc.mu(1.0, blocks)
    for steps in ((), [1.0], [RUN]):
        with pytest.raises(ConfigError, match="block"):
            acc.Block(steps)
    for value in NO_NUMBER:
        with pytest.raises(ConfigError, match=r"gaps\[0\]"):
            acc.mu(gaps=[value], blocks=RUN)


@pytest.mark.parametrize(
    "change", [{"gaps": [1.0]}, {"dimensions": [0, 1]}, {"dimensions": [1.5, 1]}, {"weights": [0.0, 1.0]}]
)
def test_an_allocation_that_makes_no_sense_is_refused(change):
    with pytest.raises(ConfigError, match=next(iter(change))):
        acc.allocate(1.0, [RUN, RUN], **({"gaps": [1.0, 1.0], "dimensions": [1, 1]} | change))


def test_a_cost_beyond_every_budget_has_no_epsilon():
    run = [acc.Block((acc.Step(0, 0, 0, s),)) for s in (1e-40, 2e-40)]
    with pytest.raises(ExpungeError):
        acc.recertified_epsilon(1e40, run, delta=1e-5)
