"""After output perturbation (C₁ = 0, λ = 0, T = 1) every coordinate has moved, with variance σ², in every block."""

import math

import pytest
import rig
import torch
import zoo
from scipy import stats

import expunge
from expunge import Custom, FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation, Whole

FIVE_SIGMA = 5.7e-7
SHAPED = [Whole(), RandomRotation(4), FastRotation(5), Permutation(7), LayerCycle(3)]


def likely_normals(values, sigma):
    """Whether Σ(z/σ)² is within the 5σ range of its chi-square law, and the mean within that of its normal law."""
    z = values.double() / sigma
    n, energy = z.numel(), z.square().sum().item()
    tails = min(stats.chi2.sf(energy, n), stats.chi2.cdf(energy, n))
    return tails > FIVE_SIGMA / 2 and abs(z.sum().item()) < 5 * math.sqrt(n)


def assert_moved_rightly(model, batch, loss, options, design, seed):
    start, parameters = rig.copies(model), {n: p for n, p in model.named_parameters() if p.requires_grad}
    made = rig.plan(model, design, proximity=1.0, epsilon=2.0, **rig.OUTPUT_PERTURBATION)
    sigma = made.blocks[0].steps[0].sigma
    outcome = expunge.unlearn(model, [batch], loss, made, design=design, simulate=seed, **options)
    moved = [(parameters[name].detach().double() - start[name].double()) for name in parameters]
    for name, change in zip(parameters, moved, strict=True):
        assert not (change == 0).any(), name
        assert change.numel() == 0 or likely_normals(change, sigma), name
    shapes = {name: parameter.shape for name, parameter in parameters.items()}
    partition = design.bind(shapes)
    for block, dimension in enumerate(partition.dimensions):
        inside = [part.piece.project(moved[part.tensor]) for part in partition.parts(block, moved)]
        assert sum(map(len, inside)) == dimension
        assert likely_normals(torch.cat(inside), sigma), block
    return outcome


@pytest.mark.parametrize("design", SHAPED, ids=rig.kind_of)
@pytest.mark.parametrize("name", zoo.ZOO)
def test_every_architecture(name, design):
    outcome = assert_moved_rightly(*zoo.make(name), design, seed=11)
    assert [block.noisy_coordinates for block in outcome.record.blocks] == [b.dimension for b in rig.ledger(outcome)]


@pytest.mark.parametrize("design", [HeadBody(), Custom(groups=[["2.*"], ["0.*"]])], ids=rig.kind_of)
def test_designs_that_need_two_layers(design):
    assert_moved_rightly(*zoo.make("MLP"), design, seed=12)


def test_bases_of_ones_own():
    model, *rest = zoo.make("MLP")
    bases = {}
    for name, parameter in model.named_parameters():
        q = torch.linalg.qr(torch.randn(parameter.shape[-1], parameter.shape[-1]))[0]
        bases[name] = [q[:, :2], q[:, 2:]]
    assert_moved_rightly(model, *rest, Custom(bases=bases), seed=13)


def test_nothing_moves_twice_with_the_same_noise():
    """Tensors of one shape get different noise, and so do the blocks."""
    model = torch.nn.ModuleList([torch.nn.Linear(5, 5, bias=False) for _ in range(4)])
    start = rig.copies(model)
    made = rig.plan(model, Permutation(2), **rig.OUTPUT_PERTURBATION)
    rig.unlearn(model, made, simulate=1)
    changes = [(p.detach() - start[name]).reshape(-1) for name, p in model.named_parameters()]
    values = torch.cat(changes)
    assert len(values.unique()) == values.numel()
