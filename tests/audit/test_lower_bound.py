"""The bound on ε from below: never above the truth oftener than it may, close to the accountant against the adversary.

The adversary's runs are drawn at once (`worst_case`); that these are the engine's is tested first.
"""

import math

import numpy as np
import pytest
import torch
from torch import nn

from expunge import Custom, ViolationError, Whole, audit, planning, unlearning
from expunge import accounting as acc
from expunge.audit import roc
from expunge.audit.worst_case import final, separation
from expunge.errors import CertificationError, ConfigError, DataError
from expunge.unlearning.noise import NoiseSource

GAP = 0.5
SCHEDULE = {"clip": 0.7, "step_size": 0.1, "weight_decay": 2.0, "steps": 3}


class Scalars(nn.Module):
    """One parameter a block; the gradient pushes each run away from the other."""

    def __init__(self, sign, gaps):
        super().__init__()
        self.values = nn.ParameterList([torch.tensor([sign * gap / 2]) for gap in gaps])
        self.sign = sign


def push(model, _):
    return -model.sign * 1e6 * sum(value.sum() for value in model.values)


def plan(epsilon=1.0, delta=1e-5, blocks=1):
    return planning.make(
        [1] * blocks, epsilon=epsilon, delta=delta, proximity=acc.Proximity(GAP, 0.0, "given"), **SCHEDULE
    )


@pytest.mark.parametrize("count", [1, 2])
def test_the_adversary_drawn_at_once_is_the_engines(count):
    blocks, gaps = plan(blocks=count).blocks, [GAP / math.sqrt(count)] * count
    design = Whole() if count == 1 else Custom(groups=[["values.0"], ["values.1"]])
    for seed in range(10):
        source = NoiseSource.simulation(seed)
        for sign in (1, -1):
            model, step = Scalars(sign, gaps), 0
            unlearning.run(model, [None], push, blocks=blocks, design=design, options=unlearning.Options(simulate=seed))
            for i, block in enumerate(blocks):
                draws = [
                    source.normal(1, step=step + t, tensor=i, like=torch.zeros(1)) for t in range(len(block.steps))
                ]
                ends = final(block, sign * gaps[i] / 2, -sign, torch.stack(draws).numpy())
                assert model.values[i].item() == pytest.approx(ends[0], rel=1e-5, abs=1e-6)
                step += len(block.steps)


def test_its_separation_is_what_the_accountant_charges():
    for count in (1, 4):
        blocks, gaps = plan(blocks=count).blocks, [GAP / math.sqrt(count)] * count
        cost = sum(distance**2 / variance for distance, variance in map(separation, blocks, gaps))
        assert math.sqrt(cost) == pytest.approx(acc.mu(GAP, blocks), rel=1e-9)


@pytest.mark.parametrize("blocks", [1, 4])
def test_against_the_adversary_it_comes_close_to_the_accountant_and_never_above(blocks):
    made = plan(blocks=blocks)
    runs = audit.worst_case(made.blocks, [GAP / math.sqrt(blocks)] * blocks, runs=200_000, seed=blocks)
    found = audit.lower_bound(*runs, delta=1e-5)
    assert 0.8 <= found.epsilon_if_gaussian <= 1.0
    assert 0.8 * acc.mu(GAP, made.blocks) <= found.mu <= acc.mu(GAP, made.blocks)
    assert found.epsilon <= 1.0


def test_without_any_assumption_it_comes_close_where_delta_leaves_events_to_count():
    runs = audit.worst_case(plan(delta=0.01).blocks, [GAP], runs=200_000, seed=3)
    found = audit.lower_bound(*runs, delta=0.01)
    assert 0.8 <= found.epsilon <= 1.0
    assert 0.8 <= found.epsilon_if_gaussian <= 1.0


def test_it_is_above_the_truth_no_oftener_than_it_may():
    mu, rounds, confidence = 1.0, 200, 0.9
    wrong, true = {"epsilon": 0, "mu": 0}, acc.gaussian.epsilon(mu, 0.05)
    for seed in range(rounds):
        chance = np.random.default_rng(seed)
        found = audit.lower_bound(
            chance.normal(mu, size=400), chance.normal(size=400), delta=0.05, confidence=confidence
        )
        wrong["epsilon"] += found.epsilon > true
        wrong["mu"] += found.mu > mu
    for count in wrong.values():
        assert count / rounds <= 1 - confidence + 5 * math.sqrt(0.1 * 0.9 / rounds)


def test_every_way_to_tell_is_found():
    """Scores above or below, unlearned or reference likelier: four mirror images of one event."""
    chance = np.random.default_rng(0)
    rare, often = chance.random(4000) < 0.02, chance.random(4000) < 0.2
    bounds = {
        audit.lower_bound(sign * first, sign * second, delta=0.0).epsilon
        for sign in (1.0, -1.0)
        for first, second in ((often, rare), (rare, often))
    }
    assert min(bounds) > 1.5
    assert max(bounds) < math.log(10)
    same = chance.normal(size=(2, 4000))
    assert audit.lower_bound(*same, delta=0.0).epsilon < 0.2
    assert audit.lower_bound(np.zeros(100), np.zeros(100), delta=0.0).epsilon == 0.0


def test_delta_is_taken_off():
    """An event of probability δ that the reference never has proves nothing at that δ."""
    unlearned, reference = np.arange(100_000) % 100 == 0, np.zeros(100_000)
    assert audit.lower_bound(unlearned, reference, delta=0.0).epsilon > 4.0
    assert audit.lower_bound(unlearned, reference, delta=0.01).epsilon == 0.0


def test_a_violation_is_loud_and_a_true_certificate_is_left_alone():
    made = plan()
    certified = {"epsilon": 1.0, "delta": 1e-5, "mu": acc.mu(GAP, made.blocks)}
    audit.refuse_violation(*audit.worst_case(made.blocks, [GAP], runs=20_000, seed=1), **certified)
    for noise, proved in (
        (0.25, "epsilon"),
        (0.6, "mu"),
    ):  # far too little is plain to see, a little too little is Gaussian
        short = audit.worst_case([made.blocks[0].with_noise(noise)], [GAP], runs=20_000, seed=1)
        with pytest.raises(ViolationError, match=rf"THE CERTIFICATE IS VIOLATED.* prove {proved} >= .*Release nothing"):
            audit.refuse_violation(*short, **certified)
    assert issubclass(ViolationError, CertificationError)


def test_what_is_allowed_is_the_gaussian_trade_off():
    chance = np.random.default_rng(5)
    members, others = chance.normal(1.5, size=400_000), chance.normal(size=400_000)
    most = audit.allowed(1.5)
    assert roc.auc(members, others)[0] == pytest.approx(most["auc"], abs=0.005)
    assert roc.tpr_at(members, others, 0.01) == pytest.approx(most["tpr_at_1"], abs=0.01)
    assert audit.allowed(0.0) == pytest.approx({"auc": 0.5, "tpr_at_1": 0.01, "tpr_at_01": 0.001})


def test_wrong_use():
    with pytest.raises(DataError, match="20 runs of each kind"):
        audit.lower_bound(np.zeros(19), np.zeros(30), delta=0.0)
    with pytest.raises(DataError, match="finite numbers"):
        audit.lower_bound([np.nan] * 30, np.zeros(30), delta=0.0)
    for delta, confidence in ((1.0, 0.95), (-0.1, 0.95), (0.0, 1.0)):
        with pytest.raises(ConfigError, match="delta"):
            audit.lower_bound(np.zeros(30), np.zeros(30), delta=delta, confidence=confidence)
    with pytest.raises(ConfigError, match="one gap"):
        audit.worst_case(plan().blocks, [0.1, 0.2], runs=10, seed=0)
