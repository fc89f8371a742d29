"""Noise that does not arrive, blocks that are not orthogonal, a clean phase other than the calibrated one."""

import json

import pytest
import torch
from paperwork import certified, issued, network, opened, plan, refused, resealed, unlearn
from torch import nn

import expunge
from expunge import Custom, FineTune, Proximity

TINY = {"clip": 0.0, "weight_decay": 0.0, "steps": 1, "epsilon": 30.0}


@pytest.mark.parametrize(("dtype", "fine"), [(torch.float32, False), (torch.float64, True)])
def test_noise_that_the_weights_would_round_away_is_refused(dtype, fine):
    """σ ≈ 2e-8 beside weights of about 1: in float32 the sum is the weight itself."""
    model = network().to(dtype)
    with torch.no_grad():
        model[0].weight.fill_(1.0)
    made = plan(model, proximity=Proximity(1e-7, 0.05, "pairs"), **TINY)
    loader = [(torch.randn(8, 4, dtype=dtype), torch.randint(0, 3, (8,)))]
    assert certified(model, made, loader=loader) == fine


def test_the_rounding_is_measured():
    model = nn.Linear(4, 3)
    with torch.no_grad():
        model.weight[0, 0] = -8.0
    made = plan(model, steps=1)
    measured = unlearn(model, made).record.blocks[0].rounding
    assert measured == pytest.approx(8.0 * 2.0**-23 / made.blocks[0].steps[0].sigma)


def test_bases_that_lean_a_little_in_every_entry_are_refused():
    """Every entry of AᵀA is right to 1e-5, and yet some direction is longer by a thousandth."""
    n = 100
    lean = torch.linalg.cholesky(torch.eye(n, dtype=torch.float64) + 0.9e-5 * torch.ones(n, n, dtype=torch.float64))
    model = nn.Linear(n, 1, bias=False).double()
    with pytest.raises(expunge.ConfigError, match="orthonormal"):
        plan(model, Custom(bases={"weight": [lean.T[:, :50].contiguous(), lean.T[:, 50:].contiguous()]}))


@pytest.mark.parametrize("change", [{"accumulate": 2}, {"autocast": torch.bfloat16}])
def test_a_clean_phase_is_run_as_it_was_calibrated(change):
    clean, model = FineTune(2), network()
    entry = json.dumps(clean.describe(), sort_keys=True)
    made = plan(model, proximity=Proximity(0.1, 0.05, "pairs", entry=entry))
    assert certified(network(), made, clean=clean)
    assert not certified(network(), made, clean=clean, **change)


def test_a_certificate_whose_clean_phase_is_not_that_of_its_proximity_is_refused():
    changed = opened(issued())
    changed["run"]["clean"] = FineTune(3).describe()
    assert refused(resealed(changed))


def test_a_guarantee_at_another_delta_than_was_asked_for_is_refused():
    for field, value in (("delta", 1e-6), ("accountant", "renyi")):
        changed = opened(issued())
        changed["target"][field] = value
        assert refused(resealed(changed))
