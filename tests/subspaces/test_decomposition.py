"""Whatever the design and whatever the shapes: the blocks are orthogonal and together they are everything."""

import awkward
import pytest
import torch

from expunge import LayerCycle, RandomRotation
from expunge.subspaces.probe import decomposition_error

EVERY = pytest.mark.parametrize("design", awkward.DESIGNS, ids=awkward.name_of)
ANY = pytest.mark.parametrize("design", awkward.ANY_SHAPE, ids=awkward.name_of)


@EVERY
def test_dimensions_add_up_to_all_coordinates(design):
    partition = design.bind(awkward.SHAPES)
    assert sum(partition.dimensions) == sum(shape.numel() for shape in awkward.SHAPES.values())
    assert min(partition.dimensions) > 0


@EVERY
def test_every_block_has_the_dimension_it_states(design):
    values, partition = awkward.tensors(awkward.SHAPES), design.bind(awkward.SHAPES)
    for block, dimension in enumerate(partition.dimensions):
        parts = partition.parts(block, values)
        sizes = [part.piece.project(values[part.tensor]).numel() for part in parts]
        assert sizes == [part.size for part in parts]
        assert sum(sizes) == dimension


@EVERY
def test_blocks_are_orthonormal_and_complete(design):
    for shape, blocks in zip(awkward.SHAPES.values(), awkward.matrices(design, awkward.SHAPES), strict=True):
        n = shape.numel()
        together = torch.cat(blocks, dim=1) if blocks else torch.zeros(0, 0, dtype=torch.float64)
        assert together.shape == (n, n)
        identity = torch.eye(n, dtype=torch.float64)
        assert torch.allclose(together.T @ together, identity, rtol=0, atol=1e-5)
        assert torch.allclose(together @ together.T, identity, rtol=0, atol=1e-5)


@EVERY
def test_projections_of_all_blocks_sum_to_the_vector(design):
    values = awkward.tensors(awkward.SHAPES)
    sums, partition = [torch.zeros_like(value) for value in values], design.bind(awkward.SHAPES)
    for block in range(len(partition.dimensions)):
        for part in partition.parts(block, values):
            part.piece.add_(sums[part.tensor], part.piece.project(values[part.tensor]))
    for total, value in zip(sums, values, strict=True):
        assert torch.allclose(total, value, rtol=0, atol=1e-5)
    assert decomposition_error(partition, values) <= 1e-5


@EVERY
def test_add_is_the_adjoint_of_project_and_leaves_the_rest(design):
    values, others = awkward.tensors(awkward.SHAPES), awkward.tensors(awkward.SHAPES, seed=1)
    partition = design.bind(awkward.SHAPES)
    for block in range(len(partition.dimensions)):
        for part in partition.parts(block, values):
            x, start = values[part.tensor], others[part.tensor]
            b = torch.randn(part.size, generator=torch.Generator().manual_seed(block))
            moved = start.clone()
            part.piece.add_(moved, b)
            assert (part.piece.project(x) * b).sum().item() == pytest.approx(
                (x * (moved - start)).sum().item(), abs=2e-4
            )


@ANY
@pytest.mark.parametrize("shapes", [awkward.ONE, awkward.SCALAR], ids=["vector", "scalar"])
def test_a_model_of_one_parameter_is_one_block(design, shapes):
    assert design.bind(shapes).dimensions == [1]
    ((only,),) = awkward.matrices(design, shapes)
    assert only.abs().item() == pytest.approx(1.0, abs=1e-6)


@EVERY
def test_memory_layout_changes_nothing(design):
    values, partition = awkward.tensors(awkward.SHAPES), design.bind(awkward.SHAPES)
    for index, plain in enumerate(values):
        turned = [plain.t().contiguous().t()] if plain.dim() == 2 else []
        turned += [plain.to(memory_format=torch.channels_last)] if plain.dim() == 4 else []
        turned += [torch.stack([plain, plain], dim=-1)[..., 0]]
        for other in turned:
            for piece in partition.pieces_of(index, plain):
                coordinates = piece.project(plain)
                assert torch.allclose(piece.project(other), coordinates, atol=1e-6)
                first, second = plain.clone(), other.clone(memory_format=torch.preserve_format)
                piece.add_(first, coordinates)
                piece.add_(second, coordinates)
                assert second.stride() == other.clone(memory_format=torch.preserve_format).stride()
                assert torch.allclose(first, second, atol=1e-6)


def test_float64_models_have_float64_blocks():
    (blocks,) = awkward.matrices(RandomRotation(3), {"w": torch.Size([5, 7])}, dtype=torch.float64)
    together = torch.cat(blocks, dim=1)
    assert torch.allclose(together.T @ together, torch.eye(35, dtype=torch.float64), atol=1e-5)


def test_a_layer_that_holds_only_an_empty_tensor_is_no_obstacle():
    shapes = {"body.weight": torch.Size([3, 2]), "gone.weight": torch.Size([0, 4]), "head.weight": torch.Size([2])}
    assert LayerCycle(2).bind(shapes).dimensions == [6, 2]
