"""Convex heads: the loss is what it says, and its constants hold on real draws."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from expunge.errors import ConfigError
from expunge.workloads import constants, linear_head, mlp_head, penalty


@pytest.fixture
def features():
    return torch.randn(200, 12, generator=torch.Generator().manual_seed(0)) * 3


def test_a_linear_head_starts_at_zero(features):
    head = linear_head(12, 4)
    assert torch.equal(head(features), torch.zeros(200, 4))


def test_an_mlp_head_comes_from_its_seed(features):
    a, b, c = (mlp_head(12, 4, seed=seed)(features) for seed in (0, 0, 1))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_the_penalty_is_half_the_squared_norm():
    head = mlp_head(12, 4, seed=0)
    norm = torch.cat([p.flatten() for p in head.parameters()]).norm().item()
    assert penalty(head, 0.3).item() == pytest.approx(0.15 * norm**2, rel=1e-5)
    assert penalty(head, 0.0) == 0.0


def per_sample(theta, feature, label):
    scores = theta.reshape(4, 13) @ torch.cat([feature, torch.ones(1, dtype=theta.dtype)])
    return cross_entropy(scores[None], label[None])


def test_no_gradient_exceeds_the_lipschitz_constant_and_some_come_near(features):
    found = constants(features, 0.01)
    features = features.double()
    longest = features[features.norm(dim=1).argmax()]
    chance = torch.Generator().manual_seed(1)
    worst = 0.0
    for scale in (0.0, 1.0, 10.0, 100.0):
        for label in range(4):
            theta = (scale * torch.randn(52, generator=chance, dtype=torch.float64)).requires_grad_()
            (gradient,) = torch.autograd.grad(per_sample(theta, longest, torch.tensor(label)), theta)
            worst = max(worst, gradient.norm().item())
    assert worst <= found.lipschitz
    assert worst > 0.95 * found.lipschitz


def test_no_curvature_exceeds_the_smoothness_and_none_is_below_lambda(features):
    l2 = 0.01
    found = constants(features, l2)
    assert found.strong_convexity == l2
    longest = features[features.norm(dim=1).argmax()].double()

    def loss(theta):
        return per_sample(theta, longest, torch.tensor(1)) + 0.5 * l2 * theta.square().sum()

    worst, least = 0.0, math.inf
    balanced = torch.zeros(4, 13, dtype=torch.float64)
    balanced[:2, :12] = 20 * longest / longest.norm()  # two classes at one half each: where the bound is reached
    for theta in (torch.zeros(52, dtype=torch.float64), balanced.flatten()):
        values = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, theta))
        worst, least = max(worst, values.max().item()), min(least, values.min().item())
    assert worst <= found.smoothness * (1 + 1e-12)
    assert worst > 0.99 * found.smoothness
    assert least >= l2 - 1e-9


@pytest.mark.parametrize("l2", [-1.0, math.nan, math.inf])
def test_wrong_constants_are_refused(features, l2):
    with pytest.raises(ConfigError, match="l2 of 0 or more"):
        constants(features, l2)
    with pytest.raises(ConfigError, match="N × F"):
        constants(features[0], 0.1)
