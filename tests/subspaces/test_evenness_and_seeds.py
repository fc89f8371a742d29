"""Blocks of nearly equal size; bases that are random, their own for every tensor, and the same again from their seed."""

import json
from dataclasses import replace

import awkward
import pytest
import torch

import expunge
from expunge import ConfigError, ExpungeError, FastRotation, LayerCycle, Permutation, RandomRotation
from expunge.accounting import Proximity
from expunge.requests.pipeline import Pipeline
from expunge.subspaces import from_description
from expunge.subspaces.protocol import Window

MLP = {"0.weight": (100, 784), "0.bias": (100,), "2.weight": (10, 100), "2.bias": (10,)}
MLP = {name: torch.Size(shape) for name, shape in MLP.items()}
TWINS = {"a": torch.Size([9, 9]), "b": torch.Size([9, 9])}
SEEDED = pytest.mark.parametrize("kind", [RandomRotation, FastRotation, Permutation])


@pytest.mark.parametrize("k", [2, 3, 10, 64])
def test_permutation_is_even_to_one_coordinate(k):
    dimensions = Permutation(k).bind(awkward.SHAPES).dimensions
    assert max(dimensions) - min(dimensions) <= 1
    assert len(dimensions) == k


@SEEDED
@pytest.mark.parametrize("k", [2, 3, 4, 10])
def test_dimensions_are_nearly_equal(kind, k):
    """As near as whole directions allow: with ten blocks a chunk of 128 gives 13 to some and 12 to others."""
    dimensions = kind(k).bind(MLP).dimensions
    even = sum(dimensions) / k
    assert len(dimensions) == k
    assert all(abs(dimension - even) < 0.1 * even for dimension in dimensions)


def test_layers_go_round_and_none_is_empty():
    shapes = {f"{layer}.{kind}": torch.Size([layer + 1]) for layer in range(5) for kind in ("weight", "bias")}
    assert LayerCycle(2).bind(shapes).dimensions == [2 * (1 + 3 + 5), 2 * (2 + 4)]
    assert LayerCycle(5).bind(shapes).dimensions == [2, 4, 6, 8, 10]
    assert len(LayerCycle(9).bind(shapes).dimensions) == 5


def test_more_blocks_than_coordinates_leaves_the_empty_ones_out():
    for kind in (RandomRotation, FastRotation, Permutation):
        assert kind(64).bind({"w": torch.Size([5])}).dimensions == [1] * 5


def all_columns(design, shapes):
    return [torch.cat(blocks, dim=1) for blocks in awkward.matrices(design, shapes)]


@SEEDED
def test_a_seed_gives_the_same_bases_again_and_another_seed_others(kind):
    first, again, other = (all_columns(kind(3, seed=seed), TWINS) for seed in (5, 5, 6))
    for a, b, c in zip(first, again, other, strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)


@SEEDED
def test_every_tensor_has_a_basis_of_its_own(kind):
    first, second = all_columns(kind(3), TWINS)
    assert not torch.equal(first, second)


@SEEDED
def test_bases_leave_the_global_randomness_alone(kind):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    kind(3).bind(TWINS)
    assert torch.equal(torch.get_rng_state(), before)
    first = all_columns(kind(3), TWINS)
    torch.manual_seed(4)
    assert all(map(torch.equal, first, all_columns(kind(3), TWINS)))


def test_random_rotation_is_haar():
    """The entries of a Haar matrix have mean 0 and variance 1/n, and no sign is preferred on the diagonal."""
    draws = torch.stack([torch.cat(RandomRotationMatrix(seed), dim=1) for seed in range(300)])
    n = draws.shape[-1]
    assert draws.mean(0).abs().max().item() < 5 * (1 / n / 300) ** 0.5
    assert (draws.square().mean(0) - 1 / n).abs().max().item() < 5 * (2 / n**2 / 300) ** 0.5


def RandomRotationMatrix(seed):  # noqa: N802
    (blocks,) = awkward.matrices(RandomRotation(1, seed=seed), {"w": torch.Size([6])})
    return blocks


def places(design, size, block, window=None, offset=0):
    split = design.splits({"before": torch.Size([offset]), "it": torch.Size([size])})[1]
    return split.piece(block, torch.zeros(0), window)._index.long() if split.size(block) else torch.empty(0).long()


@pytest.mark.parametrize("k", [1, 2, 3, 7, 64, 300])
@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 1000])
@pytest.mark.parametrize("offset", [0, 5])
def test_permutation_finds_the_same_places_through_any_window(k, size, offset):
    """What one process of several makes of its rows is what one alone would have there."""
    design = Permutation(k, seed=2)
    split = design.splits({"before": torch.Size([offset]), "it": torch.Size([size])})[1]
    for block in range(min(k, 9)):
        found = places(design, size, block, offset=offset)
        assert len(found) == split.size(block)
        for place in range(0, size + 1, max(1, size // 9)):
            assert split.before(block, place) == int((found < place).sum())
            inside = found[(found >= size // 3) & (found < place)] - size // 3
            if place >= size // 3:
                assert torch.equal(places(design, size, block, Window(size // 3, place), offset), inside)


@pytest.mark.parametrize("k", [2, 3, 4, 300])
def test_permutation_has_one_coordinate_of_every_group_in_every_block(k):
    size = 40_000 * k  # more groups than are made at a time
    for block in (0, k - 1):
        found = places(Permutation(k), size, block)
        assert torch.equal(found // k, torch.arange(40_000))
        counts = torch.bincount(found % k, minlength=k).double()
        assert ((counts - 40_000 / k).square().sum() * k / 40_000).item() < k + 5 * (2 * k) ** 0.5 + 10
        first, second = (found % k)[:-1].double(), (found % k)[1:].double()
        correlation = torch.corrcoef(torch.stack([first, second]))[0, 1].item()
        assert abs(correlation) < 5 / 40_000**0.5


def test_permutation_begins_again_nowhere():
    """Groups 32,768 apart, and tensors one after another, have shifts of their own."""
    found = places(Permutation(4), 4 * 200_000, 1) % 4
    for lag in (16, 32_768, 65_536):
        same = (found[lag:] == found[:-lag]).double().mean().item()
        assert abs(same - 0.25) < 5 * (0.1875 / (len(found) - lag)) ** 0.5


def test_blocks_of_another_version_are_refused_by_name_and_by_their_gaps():
    """The same name and seed may have meant other blocks: gaps measured in those say nothing about these."""
    now = Permutation(4).describe()
    assert from_description(now) == from_description({"kind": "Permutation", "k": 4}) == Permutation(4)
    with pytest.raises(ConfigError, match="another version"):
        from_description({**now, "layout": 1})
    before = {name: value for name, value in now.items() if name != "layout"}
    claim = Proximity(0.5, 0.1, "pairs", gaps=(0.25,) * 4, design=json.dumps(before, sort_keys=True))
    with pytest.raises(ExpungeError, match="another design"):
        expunge.plan(
            torch.nn.Linear(3, 4),
            blocks=Permutation(4),
            proximity=claim,
            epsilon=9,
            delta=1e-5,
            clip=0.0,
            step_size=0.0,
        )


def test_every_seed_has_blocks_of_its_own():
    """Whole numbers beyond 2⁶³ beside small ones are no float64s, which would make neighbours the same."""
    for seed in (0, 2**63, 2**64 - 2):
        one, other = (Permutation(3, seed=seed + more).splits({"w": torch.Size([3000])})[0] for more in (0, 1))
        assert one._places(0, 0, 3000).tolist() != other._places(0, 0, 3000).tolist()


def test_a_tensor_of_more_coordinates_than_int32_counts():
    """Its places are in int64, and so is what is added to those of a chunk."""
    (split,) = Permutation(256).splits({"w": torch.Size([2**31 + 70_000])})
    places = split._places(3, 0, split.elements)
    assert len(places) == split.size(3)
    assert split.elements - 512 <= places[-1] < split.elements


def test_a_plan_by_blocks_of_another_version_is_refused_before_anything_moves():
    """It agrees with itself; blocks made of it now are others. Nor is an earlier request repeated in others."""
    before = {name: value for name, value in Permutation(4).describe().items() if name != "layout"}
    model = torch.nn.Linear(3, 4)
    plain = {"epsilon": 9, "delta": 1e-5, "clip": 0.0, "step_size": 0.0}
    made = expunge.plan(model, blocks=Permutation(4), proximity=0.5, **plain)
    claim = Proximity(0.5, 0.1, "pairs", gaps=(0.25,) * 4, design=json.dumps(before, sort_keys=True))
    old = replace(made, proximity=claim, design=before)
    weight = model.weight.detach().clone()
    with pytest.raises(ExpungeError, match="other blocks"):
        expunge.unlearn(model, [torch.ones(2, 3)], lambda m, x: m(x).sum(), old)
    assert torch.equal(model.weight, weight)
    both = Pipeline(lambda stream, seed: model, lambda stream, seed: [], None, (replace(made, design=before),), (None,))
    with pytest.raises(ConfigError, match="earlier request"):
        both(None, 0)
