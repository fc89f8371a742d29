"""The engine against Algorithm 1 written with dense matrices: B ← B − γ(clip(A_iᵀg) + λB) + ξ, x ← x + A_i(B' − B)."""

import math

import pytest
import rig
import torch
from torch.func import functional_call

from expunge import Custom, FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation, Whole, planning
from expunge.unlearning.noise import NoiseSource

DESIGNS = [
    Whole(),
    RandomRotation(2),
    RandomRotation(5, seed=3),
    FastRotation(3),
    Permutation(4),
    LayerCycle(2),
    HeadBody(),
    Custom(groups=[["0.bias", "2.weight"], ["0.weight", "2.bias"]]),
]
CONSTANT = {"clip": 0.3, "step_size": 0.1, "weight_decay": 0.7, "steps": 3}
SCHEDULES = {
    "clipped": CONSTANT | {"clip": 0.01},
    "not clipped": CONSTANT | {"clip": 1e4},
    "no decay": CONSTANT | {"weight_decay": 0.0},
    "strong decay": CONSTANT | {"weight_decay": 9.5},
    "no gradient": CONSTANT | {"clip": 0.0},
    "noise every second step": CONSTANT | {"steps": 4, "noise_every": 2},
    "everything varies": {
        "clip": 0.3,
        "step_size": [0.1, 0.02, 0.3, 0.05],
        "weight_decay": [0.0, 1.0, 0.2, 3.0],
        "steps": 4,
        "noise_every": 2,
        "noise_shape": [1.0, 3.0],
    },
}


def dense(partition, block, values):
    """A_i over the whole parameter vector, and (tensor, size) of its parts."""
    parts, rows = partition.parts(block, values), []
    for part in parts:
        for unit in torch.eye(part.size, dtype=torch.float64):
            placed = [torch.zeros_like(value) for value in values]
            part.piece.add_(placed[part.tensor], unit.clone())
            rows.append(torch.cat([value.reshape(-1) for value in placed]))
    return torch.stack(rows, dim=1), [(part.tensor, part.size) for part in parts]


def gradient(model, names, x, batch):
    """Of the loss at the parameter vector x."""
    x = x.clone().requires_grad_(True)
    shapes = [dict(model.named_parameters())[name].shape for name in names]
    pieces = x.split([shape.numel() for shape in shapes])
    values = {name: piece.view(shape) for name, piece, shape in zip(names, pieces, shapes, strict=True)}
    logits = functional_call(model, values, (batch[0],))
    return torch.autograd.grad(torch.nn.functional.cross_entropy(logits, batch[1]), x)[0]


def algorithm_1(model, design, blocks, loader, seed):
    names, values = zip(*((name, p.detach().double()) for name, p in model.named_parameters()), strict=True)
    x = torch.cat([value.reshape(-1) for value in values])
    partition = design.bind({name: value.shape for name, value in zip(names, values, strict=True)})
    source, number, taken = NoiseSource.simulation(seed), 0, 0
    for index, block in enumerate(blocks):
        a, parts = dense(partition, index, values)
        b = a.T @ x
        for step in block.steps:
            move = step.weight_decay * b
            if step.clip * step.step_size > 0:
                g = a.T @ gradient(model, names, x, loader[taken % len(loader)])
                taken += 1
                move = move + g * min(1.0, step.clip / g.norm().item())
            noise = [source.normal(size, step=number, tensor=tensor, like=x) for tensor, size in parts]
            b_new = b - step.step_size * move + step.sigma * torch.cat(noise)
            x, b, number = x + a @ (b_new - b), b_new, number + 1
    return x


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: f"{rig.kind_of(d)}-{getattr(d, 'k', '')}")
def test_the_engine_is_algorithm_1(design, schedule):
    model, loader = rig.mlp().double(), [(x.double(), y) for x, y in rig.batches()]
    shapes = {name: p.shape for name, p in model.named_parameters()}
    made = planning.make(
        design.bind(shapes).dimensions,
        epsilon=20.0,
        delta=1e-5,
        proximity=0.1,
        design=design.describe(),
        **SCHEDULES[schedule],
    )
    expected = algorithm_1(model, design, made.blocks, loader, seed=4)
    outcome = rig.unlearn(model, made, loader=loader, simulate=4)
    found = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    assert (found - expected).norm().item() < 1e-5 * expected.norm().item()
    hits = sum(block.clip_hits for block in outcome.record.blocks)
    steps = sum(len(block.steps) for block in made.blocks)
    assert hits == {"clipped": steps, "not clipped": 0, "no gradient": 0}.get(schedule, hits)
    assert all(block.largest_excess <= 1.0 for block in outcome.record.blocks)


def test_clip_per_block():
    """One value per block is that block's own clip, not over √k."""
    model = rig.mlp().double()
    made = rig.plan(model, LayerCycle(2), clip=[0.01, 0.02], steps=1, weight_decay=0.0)
    assert [block.steps[0].clip for block in made.blocks] == [0.01, 0.02]
    equal = rig.plan(model, LayerCycle(2), clip=0.02)
    assert [block.steps[0].clip for block in equal.blocks] == [pytest.approx(0.02 / math.sqrt(2))] * 2


def test_float32_follows_float64():
    results = []
    for dtype in (torch.float32, torch.float64):
        model = rig.mlp().to(dtype)
        made = rig.plan(model, RandomRotation(3), **CONSTANT)
        rig.unlearn(model, made, loader=[(x.to(dtype), y) for x, y in rig.batches()], simulate=2)
        results.append(torch.cat([p.detach().double().reshape(-1) for p in model.parameters()]))
    assert (results[0] - results[1]).norm().item() < 1e-5 * results[1].norm().item()
