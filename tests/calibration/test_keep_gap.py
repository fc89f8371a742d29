"""Gaps inside a keep-space, and gaps of all blocks at once."""

import json
import math

import pytest
import torch
from runs import Points, loader, loss, train
from torch import nn

import expunge
from expunge import Core, Custom, FineTune, Permutation, Proximity, RandomDeletion, Reference
from expunge.accounting.ledger import read_proximity
from expunge.calibration import Calibration, base_stream, curvature, retained_stream
from expunge.calibration.coupling import Stream, chance, retained
from expunge.errors import ConfigError, ProximityError
from expunge.unlearning import find_bases

TENTH = RandomDeletion(0.1)


def fresh():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


SPACE = Core(1, "keep", reference=Reference(fresh, seed=9), bases=FineTune(5, lr=0.2), k=2)
HOW = {"loss": loss, "loader": loader}


def test_the_gap_is_that_inside_each_pairs_own_keep_space():
    found = expunge.calibrate(train, Points(), TENTH, pairs=2, seed=4, design=SPACE, **HOW)
    base = dict(train(base_stream(Points()), 4).named_parameters())
    for pair in range(2):
        forget = TENTH.forget(Points(), chance(4, pair, "deletion"))
        twin = train(retained_stream(Points(), forget, chance(4, pair, "slots")), 4)
        rest = Stream(Points(), retained(forget, 40))
        blocks = find_bases(twin, loader(rest), loss, SPACE, seed=chance(4, pair, "bases"))
        apart = [base[name].detach() - value.detach() for name, value in twin.named_parameters()]
        by_hand = [
            math.sqrt(
                sum(float(part.piece.project(apart[part.tensor]).square().sum()) for part in blocks.parts(i, apart))
            )
            for i in range(2)
        ]
        gap = found.pairs[pair]["gap"]
        assert gap["per_block"] == pytest.approx(by_hand, rel=1e-5)
        assert gap["total"] == pytest.approx(math.hypot(*by_hand), rel=1e-5)
        assert gap["total"] < gap["everywhere"] == found.pairs[pair]["gap_as_trained"]["total"]
    assert json.loads(found.proximity.design) == SPACE.describe()
    with pytest.raises(ConfigError, match="whole space"):
        found.at(0)


def test_a_clean_phase_comes_before_the_reset():
    clean = FineTune(40, lr=0.3, momentum=0.0, weight_decay=1.0)
    after = expunge.calibrate(train, Points(), TENTH, pairs=2, design=SPACE, clean=clean, **HOW)
    before = expunge.calibrate(train, Points(), TENTH, pairs=2, design=SPACE, **HOW)
    assert after.proximity.gap < 0.01 * before.proximity.gap
    assert after.proximity.entry is not None


def test_a_keep_space_needs_the_runs_own_loss_and_loader():
    with pytest.raises(ConfigError, match="needs loss"):
        expunge.calibrate(train, Points(), TENTH, pairs=1, design=SPACE)
    unnamed = Core(1, reference=Reference(fresh), bases=FineTune(5, schedule=lambda _: 1.0))
    with pytest.raises(ConfigError, match="told apart"):
        expunge.calibrate(train, Points(), TENTH, pairs=1, design=unnamed, **HOW)


def calibration(gaps):
    """As if these gaps had been measured by block."""
    pairs = tuple({"gap": {"total": math.hypot(*each), "per_block": list(each)}} for each in gaps)
    return Calibration(
        Proximity(9.0, 0.1, "pairs", entry="e", requests=2), pairs, {"design": Permutation(2).describe()}
    )


def test_given_scales_cost_no_pair_and_the_first_pair_costs_itself():
    measured = calibration([(1.0, 2.0), (3.0, 2.0), (1.0, 8.0)])
    given = measured.by_block(scales=[1.0, 4.0])
    assert given.gaps == pytest.approx((3.0, 12.0))
    assert (given.failure, given.entry, given.requests) == (1 / 4, "e", 2)
    assert given.gap == pytest.approx(math.hypot(3.0, 12.0))
    own = measured.by_block()
    assert own.gaps == pytest.approx((4.0, 8.0))
    assert own.failure == 1 / 3
    assert "first pair" in own.source
    with pytest.raises(ProximityError):
        measured.by_block(failure=0.3)


def test_failed_pairs_and_blocks_without_a_gap_count_as_infinite():
    pairs = calibration([(1.0, 0.0), (1.0, 0.0), (1.0, 1.0)])
    assert pairs.by_block().failure == 2 / 3
    failed = Calibration(pairs.proximity, (*pairs.pairs[:2], {"failed": "it diverged"}), pairs.coupling)
    assert failed.by_block().failure == 2 / 3
    with pytest.raises(ProximityError, match="fail"):
        Calibration(pairs.proximity, ({"failed": "it diverged"}, *pairs.pairs), pairs.coupling).by_block()


def test_all_blocks_hold_at_once_as_often_as_is_said():
    """2,000 calibrations of four pairs: the fifth exceeds one of its blocks' gaps in at most 1/5 of them, or 1/4."""
    random = torch.Generator().manual_seed(0)
    for scales, failure in (([1.0, 5.0, 2.0], 1 / 5), (None, 1 / 4)):
        missed = 0
        for _ in range(2000):
            draws = (torch.randn(5, 3, generator=random).abs() * torch.tensor([1.0, 5.0, 2.0])).tolist()
            bounds = calibration(draws[:4]).by_block(scales=scales)
            missed += any(gap > bound for gap, bound in zip(draws[4], bounds.gaps, strict=True))
            assert bounds.failure == failure
        assert missed / 2000 == pytest.approx(failure, abs=5 * math.sqrt(failure * (1 - failure) / 2000))


def test_gaps_by_block_belong_to_their_design_and_come_back_from_json():
    proximity = calibration([(1.0, 2.0), (3.0, 2.0)]).by_block(scales=[1.0, 1.0])
    values = json.loads(json.dumps({name: getattr(proximity, name) for name in proximity.__slots__}))
    assert read_proximity(values) == proximity
    model = fresh()
    settings = {"epsilon": 5.0, "delta": 1e-5, "clip": 0.0, "step_size": 0.0, "proximity": proximity}
    made = expunge.plan(model, blocks=Permutation(2), **settings)
    assert made.mu <= expunge.accounting.gaussian.mu(5.0, 1e-5)
    with pytest.raises(ProximityError, match="another design"):
        expunge.plan(model, blocks=Permutation(2, seed=1), **settings)
    with pytest.raises(ConfigError, match="root of the gaps' squares"):
        read_and_change(values, gap=1.0)


def read_and_change(values, **changes):
    return Proximity(**{**values, **changes})


def test_known_gaps_share_out_the_noise_and_weights_shift_it():
    proximity = calibration([(0.1, 1.0), (0.1, 1.0)]).by_block(scales=[0.1, 1.0])
    settings = {"epsilon": 5.0, "delta": 1e-5, "clip": 0.0, "step_size": 0.0}
    even, tilted = (
        expunge.plan(fresh(), blocks=Permutation(2), proximity=proximity, weights=weights, **settings)
        for weights in (None, [100.0, 1.0])
    )
    sigmas = [[block.steps[0].sigma for block in made.blocks] for made in (even, tilted)]
    assert sigmas[0][1] / sigmas[0][0] == pytest.approx(math.sqrt(10.0))
    assert sigmas[1][0] < sigmas[0][0]
    assert sigmas[1][1] > sigmas[0][1]
    with pytest.raises(ConfigError, match="weights"):
        expunge.plan(fresh(), blocks=Permutation(2), proximity=1.0, weights=[1.0, 1.0], **settings)


class Bowl(nn.Module):
    """A loss of curvature 1 in its first half and 9 in its second."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Parameter(torch.ones(500)), nn.Parameter(torch.ones(500))


def bowl(model, _):
    return 0.5 * (model.first.square().sum() + 9 * model.second.square().sum())


def test_curvature_is_that_of_a_bowl_and_leaves_the_model_as_it_was():
    model, blocks = Bowl(), Custom(groups=[["first"], ["second"]])
    partition = blocks.bind({name: parameter.shape for name, parameter in model.named_parameters()})
    found = curvature(model, bowl, [None], partition, scale=10.0, draws=8)
    assert found == pytest.approx([0.5, 4.5], rel=0.1)
    assert bool((model.first == 1).all() and (model.second == 1).all())
    with pytest.raises(ConfigError, match="in no block"):
        curvature(model, lambda *arguments: -bowl(*arguments), [None], partition, scale=10.0)
    with pytest.raises(ConfigError, match="one batch"):
        curvature(model, bowl, [], partition, scale=10.0)
