"""Distances: what a pair's gap is made of, and which gaps are refused because they would be too small."""

import copy
import math

import pytest
import torch
from torch import nn

from expunge.calibration.distance import distances, full_state, gap
from expunge.errors import DataError
from expunge.subspaces import FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation, Whole


def network(seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
    nn.init.normal_(model[1].weight)
    return model


def test_the_gap_is_the_euclidean_distance_of_all_trainable_numbers():
    first, second = network(0), network(1)
    found = gap(second, full_state(first))
    flat = [torch.cat([p.detach().double().flatten() for p in model.parameters()]) for model in (first, second)]
    exact = torch.linalg.vector_norm(flat[0] - flat[1]).item()
    assert exact <= found["total"] <= exact * (1 + 1e-9)
    assert found["per_tensor"].keys() == dict(first.named_parameters()).keys()
    assert math.hypot(*found["per_tensor"].values()) == pytest.approx(exact, rel=1e-12)


def test_by_hand():
    first, second = (
        {"a": torch.tensor([1.0, 2.0]), "b": torch.zeros(2)},
        {"a": torch.tensor([4.0, 2.0]), "b": torch.tensor([0.0, 4.0])},
    )
    found = distances(first, second)
    assert found["per_tensor"] == {"a": 3.0, "b": 4.0}
    assert found["total"] == pytest.approx(5.0, rel=1e-11)


def test_a_small_difference_of_large_weights_is_not_lost():
    first = {"w": torch.full((1000,), 1e4)}
    second = {"w": torch.nextafter(first["w"], torch.tensor(torch.inf))}
    step = float(second["w"][0]) - float(first["w"][0])
    assert distances(first, second)["total"] == pytest.approx(step * math.sqrt(1000), rel=1e-9)


@pytest.mark.parametrize(
    "design", [Whole(), RandomRotation(3), FastRotation(3), Permutation(3), LayerCycle(2), HeadBody()], ids=str
)
def test_the_blocks_of_a_design_share_the_gap(design):
    first, second = network(0), network(1)
    found = gap(second, full_state(first), design)
    shapes = {name: p.shape for name, p in first.named_parameters()}
    assert len(found["per_block"]) == len(design.bind(shapes).dimensions)
    assert all(block > 0 for block in found["per_block"])
    assert math.hypot(*found["per_block"]) == pytest.approx(found["total"], rel=1e-6)


def test_statistics_of_batches_are_no_part_of_the_gap():
    first = network()
    second = copy.deepcopy(first)
    second[1].running_mean += 5.0
    assert gap(second, full_state(first))["total"] == 0.0


def test_of_a_bare_state_dict_everything_counts():
    first = network()
    second = copy.deepcopy(first)
    second[1].running_mean += 5.0
    assert gap(second.state_dict(), full_state(first))["total"] == pytest.approx(5.0 * math.sqrt(8))


def test_tied_weights_count_once():
    model, base = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)), None
    model[1].weight = model[0].weight
    base = full_state(model)
    with torch.no_grad():
        model[0].weight[0, 0] += 3.0
    assert gap(model, base)["total"] == pytest.approx(3.0)


def test_what_was_trained_and_then_frozen_is_not_left_out_in_silence():
    first, second = network(0), network(1)
    second[3].requires_grad_(False)
    with pytest.raises(DataError, match=r"'3.weight' is frozen, but differs"):
        gap(second, full_state(first))


def test_what_is_frozen_and_the_same_is_public_and_no_part_of_it():
    first = network()
    second = copy.deepcopy(first)
    second[3].requires_grad_(False)
    with torch.no_grad():
        second[0].bias += 1.0
    found = gap(second, full_state(first))
    assert found["total"] == pytest.approx(math.sqrt(8))
    assert "3.weight" not in found["per_tensor"]


def test_a_model_without_trainable_parameters_has_no_gap():
    model = network().requires_grad_(False)
    with pytest.raises(DataError, match="no trainable parameter"):
        gap(model, full_state(model))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_no_gap(value):
    first, second = network(0), network(0)
    with torch.no_grad():
        second[0].weight[0, 0] = value
    with pytest.raises(DataError, match="not finite"):
        gap(second, full_state(first))


@pytest.mark.parametrize("other", [nn.Linear(6, 8), nn.Sequential(nn.Linear(6, 9))])
def test_two_different_models_have_no_gap(other):
    with pytest.raises(DataError, match="different tensors"):
        gap(other, full_state(network()))
