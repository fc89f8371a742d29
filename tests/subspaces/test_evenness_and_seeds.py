"""Blocks of nearly equal size; bases that are random, their own for every tensor, and the same again from their seed."""

import awkward
import pytest
import torch

from expunge import FastRotation, LayerCycle, Permutation, RandomRotation

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
