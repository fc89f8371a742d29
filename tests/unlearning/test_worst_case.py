"""The adversary through the real engine: gradients that push two starts apart at full clip reach the bound exactly.

R = ρ^T Δ + 2γC₁ Σρ^t is the gap that the noise must hide, σ²S its variance in any one direction.
"""

import math

import pytest
import torch
from torch import nn

import expunge
from expunge import Custom, FastRotation, Permutation, RandomRotation, Whole
from expunge import accounting as acc

GAP, RUNS, SIDE = 0.8, 40, 8
HALVES = Custom(groups=[["a"], ["b"]])
DIRECTION = torch.ones(2 * SIDE * SIDE) / math.sqrt(2 * SIDE * SIDE)
CASES = [
    (Whole(), 1, 3.0),
    (Whole(), 6, 0.0),
    (Permutation(4), 3, 2.0),
    (HALVES, 4, 5.0),
    (RandomRotation(4), 2, 1.0),
    (FastRotation(2), 5, 4.0),
]


class Start(nn.Module):
    """Two matrices, and which way their gradient pushes: a data set can do that."""

    def __init__(self, sign):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(SIDE, SIDE)), nn.Parameter(torch.zeros(SIDE, SIDE))
        self.sign = sign
        with torch.no_grad():
            self.a += sign * GAP / 2 * DIRECTION[0]
            self.b += sign * GAP / 2 * DIRECTION[0]

    def vector(self):
        return torch.cat([self.a.detach().reshape(-1), self.b.detach().reshape(-1)]).double()


def push(model, batch):
    return -model.sign * 1e6 * (model.a.sum() + model.b.sum())


def run(design, steps, decay, seed, sign):
    model = Start(sign)
    made = plan(model, design, steps, decay)
    expunge.unlearn(model, [None], push, made, simulate=seed)
    return model.vector()


def plan(model, design, steps, decay):
    return expunge.plan(
        model,
        blocks=design,
        proximity=GAP,
        epsilon=8.0,
        delta=1e-5,
        clip=0.7,
        step_size=0.1,
        weight_decay=decay,
        steps=steps,
    )


@pytest.mark.parametrize(("design", "steps", "decay"), CASES, ids=lambda v: getattr(v, "__class__", type(v)).__name__)
def test_the_bound_is_reached_and_never_passed(design, steps, decay):
    model = Start(1)
    made, partition = plan(model, design, steps, decay), design.bind({"a": model.a.shape, "b": model.b.shape})
    up = [run(design, steps, decay, 2 * seed, +1) for seed in range(RUNS)]
    down = [run(design, steps, decay, 2 * seed + 1, -1) for seed in range(RUNS)]
    same = run(design, steps, decay, 0, -1)  # the same noise as up[0]: their difference is exact
    rho, gamma, sigma = 1 - 0.1 * decay, 0.1, made.blocks[0].steps[0].sigma
    power = sum(rho ** (2 * t) for t in range(steps))
    drift = 2 * gamma * (0.7 / math.sqrt(len(made.blocks))) * sum(rho**t for t in range(steps))
    cost = 0.0
    for block in range(len(made.blocks)):
        unit = coordinates(partition, block, DIRECTION)
        expected = rho**steps * GAP * unit.norm().item() + drift
        unit /= unit.norm()
        gap = unit @ (coordinates(partition, block, up[0]) - coordinates(partition, block, same))
        assert gap.item() == pytest.approx(expected, rel=1e-5)
        ups, downs = (torch.stack([coordinates(partition, block, x) for x in runs]) for runs in (up, down))
        mean = ((ups - downs) @ unit).mean().item()
        assert abs(mean - expected) < 5 * sigma * math.sqrt(2 * power / RUNS)
        assert_variance(
            torch.cat([ups @ unit - (ups @ unit).mean(), downs @ unit - (downs @ unit).mean()]), sigma, power
        )
        for runs in (ups, downs):
            assert_variance(runs - runs.mean(0), sigma, power)
        cost += expected**2 / (sigma**2 * power)
    assert math.sqrt(cost) <= acc.mu(GAP, made.blocks) * (1 + 1e-9)
    if not isinstance(design, (RandomRotation, FastRotation)):  # with equal shares, the worst split
        assert math.sqrt(cost) == pytest.approx(acc.mu(GAP, made.blocks), rel=1e-6)


def coordinates(partition, block, vector):
    values = [half.view(SIDE, SIDE) for half in vector.double().chunk(2)]
    return torch.cat([part.piece.project(values[part.tensor]) for part in partition.parts(block, values)])


def assert_variance(centred, sigma, power):
    """Within 5σ of σ²S; centring cost one degree of freedom per column and sample."""
    runs = centred.shape[0] if centred.dim() > 1 else RUNS
    freedom = centred.numel() * (runs - 1) / runs
    ratio = centred.square().sum().item() / (sigma**2 * power * freedom)
    assert abs(ratio - 1) < 5 * math.sqrt(2 / freedom)
