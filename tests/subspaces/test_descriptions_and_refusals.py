"""What a design says of itself brings it back; what makes no sense is refused by name."""

import json

import awkward
import pytest
import torch

from expunge import ConfigError, Custom, FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation
from expunge.subspaces import DESIGNS, from_description

TWO = {"body.weight": torch.Size([4, 4]), "head.weight": torch.Size([2, 4])}


def eye(n):
    return torch.eye(n)


@pytest.mark.parametrize("design", [d for d in awkward.DESIGNS if "bases" not in d.describe()], ids=awkward.name_of)
def test_a_description_brings_the_design_back(design):
    described = json.loads(json.dumps(design.describe()))
    again = from_description(described)
    assert again == design
    assert again.describe() == described
    assert again.bind(awkward.SHAPES).dimensions == design.bind(awkward.SHAPES).dimensions


def test_every_design_is_tested():
    assert {design.describe()["kind"] for design in awkward.DESIGNS} == set(DESIGNS)


def test_bases_are_described_by_their_fingerprints_and_do_not_come_back():
    one, other = ({"w": [awkward.orthogonal(4, seed)]} for seed in (0, 1))
    described = json.loads(json.dumps(Custom(bases=one).describe()))
    assert described != Custom(bases=other).describe()
    with pytest.raises(ConfigError, match="bases"):
        from_description(described)


@pytest.mark.parametrize(
    "description",
    [{}, {"kind": "Magic"}, {"kind": "Permutation"}, {"kind": "Permutation", "k": 3, "colour": 1}, {"kind": ["Whole"]}],
)
def test_a_description_of_nothing_is_refused(description):
    with pytest.raises(ConfigError):
        from_description(description)


@pytest.mark.parametrize("kind", [RandomRotation, FastRotation, Permutation, LayerCycle])
@pytest.mark.parametrize("k", [0, -1, 2.5, True, "4", None])
def test_a_number_of_blocks_that_makes_no_sense_is_refused(kind, k):
    with pytest.raises(ConfigError, match="k must be a whole number"):
        kind(k)


@pytest.mark.parametrize("kind", [RandomRotation, FastRotation, Permutation])
@pytest.mark.parametrize("seed", [-1, 0.5, True])
def test_a_seed_that_makes_no_sense_is_refused(kind, seed):
    with pytest.raises(ConfigError, match="seed"):
        kind(2, seed=seed)


def test_too_many_blocks_are_refused():
    with pytest.raises(ConfigError, match="blocks"):
        Permutation(65_537).bind(TWO)


def test_a_basis_that_would_not_fit_in_memory_is_refused_with_the_ways_out():
    with pytest.raises(ConfigError, match=r"table\.weight.*FastRotation\(4\)"):
        RandomRotation(4).bind({"table.weight": torch.Size([9000, 10_000])})
    with pytest.raises(ConfigError, match=r"table\.weight"):
        RandomRotation(64).bind({"table.weight": torch.Size([9000, 3])})


def test_a_long_vector_needs_no_large_basis():
    assert sum(RandomRotation(4).bind({"bias": torch.Size([100_003])}).dimensions) == 100_003


def test_head_and_body_need_two_layers():
    with pytest.raises(ConfigError, match="head and a body"):
        HeadBody().bind({"0.weight": torch.Size([3]), "0.bias": torch.Size([3])})
    with pytest.raises(ConfigError, match=r"'tail' holds none.*body, head"):
        HeadBody("tail").bind(TWO)


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([["body.*"]], r"'head\.weight' is in no group"),
        ([["body.*", "head.*"], ["head.*"]], r"'head\.weight' is in groups \[0, 1\]"),
        ([["*"], ["*"]], "in groups"),
    ],
)
def test_groups_that_do_not_divide_the_parameters_are_refused(groups, told):
    with pytest.raises(ConfigError, match=told):
        Custom(groups=groups).bind(TWO)


@pytest.mark.parametrize(
    ("bases", "told"),
    [
        ({"body.weight": [eye(4)]}, r"no basis for 'head\.weight'"),
        ({"body.weight": [eye(4)], "head.weight": [eye(4)], "tail": [eye(2)]}, "'tail'"),
        ({"body.weight": [eye(4)], "head.weight": [eye(4)[:, :3]]}, r"Σ r_i = 4"),
        ({"body.weight": [eye(4)], "head.weight": [eye(4)[:, :3], eye(4)[:, :2]]}, r"Σ r_i = 4"),
        ({"body.weight": [eye(4)], "head.weight": [eye(4)[:, :2], eye(4)[:, 1:3]]}, "not orthonormal"),
        ({"body.weight": [eye(4)], "head.weight": [1.001 * eye(4)]}, "not orthonormal"),
        ({"body.weight": [eye(4)], "head.weight": [eye(4) * float("nan")]}, "not orthonormal"),
        ({"body.weight": [eye(4)], "head.weight": [eye(3)]}, "4 × r_i"),
        ({"body.weight": [eye(4)], "head.weight": [torch.ones(4)]}, "4 × r_i"),
    ],
)
def test_bases_that_are_no_basis_are_refused(bases, told):
    with pytest.raises(ConfigError, match=told):
        Custom(bases=bases).bind(TWO)


def test_groups_or_bases_but_not_both():
    for arguments in ({}, {"groups": [["*"]], "bases": {"w": [eye(1)]}}):
        with pytest.raises(ConfigError, match="either groups of parameter names or bases"):
            Custom(**arguments)
