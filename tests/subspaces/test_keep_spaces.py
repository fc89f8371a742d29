"""Keep-spaces: orthonormal frames whatever the shapes, sizes known before any run, references that are fresh."""

import json
from dataclasses import replace
from functools import partial

import awkward
import pytest
import torch
from torch import nn

from expunge import Core, Factor, FineTune, Head, Reference, weights
from expunge.errors import ConfigError, DataError
from expunge.subspaces import KEEP_SPACES, from_description
from expunge.subspaces.probe import decomposition_error

RUN = FineTune(10)


def net():
    return nn.Linear(3, 2)


REFERENCE = Reference(net, seed=1)
SPACES = [
    Core(2, reference=REFERENCE, bases=RUN),
    Core(3, reference=REFERENCE, bases=RUN, vectors="keep", k=3),
    Core({"conv.*": 1, "depth*": 0, "*": 20}, reference=REFERENCE, bases=RUN, rest="run", k=64),
    Factor(2, reference=REFERENCE, bases=RUN),
    Factor(2, "left", reference=REFERENCE, bases=RUN, k=2),
    Head("head", reference=REFERENCE),
]
EVERY = pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{type(space).__name__}-{space.k}")


def bound(space, rank=3):
    """The space after a run whose updates have a low rank."""
    updates = {}
    for name, shape in awkward.SHAPES.items():
        value = awkward.tensors({name: shape})[0]
        if value.dim() > 1 and value.numel():
            u, s, v = torch.linalg.svd(value.reshape(len(value), -1), full_matrices=False)
            value = (u[:, :rank] * s[:rank] @ v[:rank]).view(shape)
        updates[name] = value
    return space.bind(awkward.SHAPES, updates)


def test_every_keep_space_is_tested():
    assert {type(space).__name__ for space in SPACES} == set(KEEP_SPACES)


@EVERY
def test_sizes_are_known_before_the_run_and_true_after_it(space):
    values, partition = awkward.tensors(awkward.SHAPES), bound(space)
    assert partition.dimensions == space.bind(awkward.SHAPES).dimensions
    assert 0 < sum(partition.dimensions) < sum(value.numel() for value in values)
    for block, dimension in enumerate(partition.dimensions):
        parts = partition.parts(block, values)
        assert sum(part.piece.project(values[part.tensor]).numel() for part in parts) == dimension


@EVERY
@pytest.mark.parametrize("rank", [3, 0])
def test_frames_are_orthonormal_even_where_the_run_moved_nothing(space, rank):
    values, partition = awkward.tensors(awkward.SHAPES), bound(space, rank)
    assert decomposition_error(partition, values) <= 1e-6
    for block in range(len(partition.dimensions)):
        for part in partition.parts(block, values):
            coordinates = torch.randn(part.size, generator=torch.Generator().manual_seed(1))
            tensor = torch.zeros_like(values[part.tensor])
            part.piece.add_(tensor, coordinates)
            assert torch.allclose(part.piece.project(tensor), coordinates, atol=1e-5)


@EVERY
def test_memory_layout_changes_nothing(space):
    partition = bound(space)
    for index, plain in enumerate(awkward.tensors(awkward.SHAPES)):
        turned = [plain.t().contiguous().t()] if plain.dim() == 2 else []
        turned += [plain.to(memory_format=torch.channels_last)] if plain.dim() == 4 else []
        for other in turned:
            for piece in partition.pieces_of(index, plain):
                coordinates = piece.project(plain)
                assert torch.allclose(piece.project(other), coordinates, atol=1e-6)
                first, second = plain.clone(), other.clone(memory_format=torch.preserve_format)
                piece.add_(first, coordinates)
                piece.add_(second, coordinates)
                assert torch.allclose(first, second, atol=1e-6)


def test_a_frame_that_is_not_orthonormal_shows_in_the_measure():
    partition = bound(SPACES[0])
    for held in partition._splits:
        if held._frame is not None and held._frame.left is not None:
            held._frame = held._frame._replace(left=1.01 * held._frame.left)
    assert decomposition_error(partition, awkward.tensors(awkward.SHAPES)) > 1e-3


def test_the_core_holds_an_update_of_its_rank_entirely():
    space, update = SPACES[0], torch.outer(torch.arange(13.0), torch.ones(17))
    shapes = {"embed.weight": update.shape}
    (piece,) = space.bind(shapes, {"embed.weight": update}).pieces_of(0, update)
    again = torch.zeros_like(update)
    piece.add_(again, piece.project(update))
    assert torch.allclose(again, update, atol=1e-4)


def test_per_layer_ranks_take_the_first_pattern_that_fits():
    shapes = {"a.weight": torch.Size([9, 9]), "b.weight": torch.Size([9, 9])}
    assert Core({"b*": 2, "*": 3}, reference=REFERENCE, bases=RUN).bind(shapes).dimensions == [9 + 4]
    both = [Core(ranks, reference=REFERENCE, bases=RUN).describe() for ranks in ({"b*": 2, "*": 3}, {"*": 3, "b*": 2})]
    assert json.dumps(both[0], sort_keys=True) != json.dumps(both[1], sort_keys=True)


@EVERY
def test_a_description_tells_spaces_apart_and_does_not_come_back(space):
    described = json.loads(json.dumps(space.describe()))
    assert described["reference"]["sha256"] == weights.digest(REFERENCE.parameters)
    assert replace(space, reference=Reference(net, seed=2)).describe() != described
    with pytest.raises(ConfigError, match="design="):
        from_description(described)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Core(2, reference=REFERENCE), "bases="),
        (lambda: Core(2, reference=REFERENCE, bases={"w": torch.eye(3)}), "engine makes it itself"),
        (lambda: Core(2, reference=net, bases=RUN), "Reference"),
        (lambda: Core(-1, reference=REFERENCE, bases=RUN), "rank"),
        (lambda: Core(0, reference=REFERENCE, bases=RUN).bind(awkward.SHAPES), "keeps nothing"),
        (lambda: Core({"x": 3}, reference=REFERENCE, bases=RUN).bind(awkward.SHAPES), "no rank fits"),
        (lambda: Core(2, "all", reference=REFERENCE, bases=RUN), "vectors"),
        (lambda: Core(2, reference=REFERENCE, bases=RUN, rest="model"), "rest"),
        (lambda: Head("head", reference=REFERENCE, rest="run"), "bases="),
        (lambda: Head("nothing", reference=REFERENCE).bind(awkward.SHAPES), "nothing"),
        (lambda: Factor(2, "top", reference=REFERENCE, bases=RUN), "side"),
        (lambda: SPACES[0].bind(awkward.SHAPES).parts(0, awkward.tensors(awkward.SHAPES)), "run"),
        (lambda: Reference(), "factory"),
        (lambda: Reference(net, file="x.pt"), "factory"),
        (lambda: Reference(file="x.pt"), "SHA-256"),
        (lambda: Reference(lambda: 3).parameters, "Module"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_in_words(make, told):
    with pytest.raises(ConfigError, match=told):
        make()


def test_a_factory_that_draws_from_elsewhere_is_no_reference():
    count = iter(range(9))

    def drifting():
        made = net()
        nn.init.constant_(made.bias, float(next(count)))
        return made

    with pytest.raises(ConfigError, match="two different models"):
        _ = Reference(drifting).parameters


def test_a_reference_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    _ = Reference(net, seed=3).parameters
    assert torch.equal(before, torch.get_rng_state())


def test_a_file_is_a_reference_with_its_own_hash_alone(tmp_path):
    path = tmp_path / "public.safetensors"
    stated = weights.save(net().state_dict(), path)
    reference = Reference(file=path, sha256=stated, origin="made here")
    assert reference.describe() == {"origin": "made here", "sha256": weights.digest(reference.parameters)}
    with pytest.raises(DataError, match="not the reference that was declared"):
        _ = Reference(file=path, sha256="0" * 64, origin="made here").parameters
    with pytest.raises(DataError, match="cannot read"):
        _ = Reference(file=tmp_path / "gone.pt", sha256=stated, origin="made here").parameters


def test_partials_are_named_with_their_settings():
    assert "Linear(3, 2)" in Reference(partial(nn.Linear, 3, 2)).where
