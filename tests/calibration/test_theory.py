"""The bound for a convex head holds on real trainings, and says what it rests on."""

from dataclasses import replace

import pytest
import torch

from expunge import RandomDeletion
from expunge.calibration import calibrate, regularized_head
from expunge.errors import ConfigError
from expunge.workloads import Dataset, Workload, constants, recipe

L2 = 0.01


@pytest.fixture
def head():
    """A linear head on 200 random features in three classes, trained almost to its minimum."""
    chance = torch.Generator().manual_seed(0)
    inputs, labels = torch.randn(200, 5, generator=chance), torch.randint(3, (200,), generator=chance)
    data = Dataset("features", inputs, labels, inputs[:10], labels[:10], 3)
    return Workload(replace(recipe("cifar10-head"), l2=L2, epochs=40), data)


def gradient_norm(workload, model):
    ((inputs, labels),) = workload.loader(workload.stream())
    found = torch.autograd.grad(workload.loss(model, (inputs, labels)), list(model.parameters()))
    return torch.cat([part.flatten() for part in found]).norm().item()


@pytest.mark.parametrize("fraction", [0.005, 0.1, 0.5])
def test_no_pair_comes_near_the_bound(head, fraction):
    found = calibrate(head.train, head.dataset, RandomDeletion(fraction), pairs=3)
    about = constants(head.dataset.inputs, L2)
    norm = gradient_norm(head, head.train(head.stream(), 0))
    removed = found.coupling["removed"][0]
    bound = regularized_head(
        lipschitz=about.lipschitz, strong_convexity=about.strong_convexity, forget=removed, retained=200 - removed,
        gradient_norm=norm, reference_gradient_norm=norm,
    )  # fmt: skip
    assert 0 < max(found.gaps) < bound.gap
    assert bound.failure == 0.0
    assert any("retraining stops" in assumption for assumption in bound.assumptions)


def test_by_hand():
    bound = regularized_head(
        lipschitz=3.0, strong_convexity=0.5, forget=2, retained=8, gradient_norm=0.01, reference_gradient_norm=0.02
    )
    assert bound.gap == pytest.approx(2 * 3 * 2 / (0.5 * 8) + 0.03 / 0.5, rel=1e-9)
    assert bound.gap >= 2 * 3 * 2 / (0.5 * 8) + 0.03 / 0.5


@pytest.mark.parametrize(
    "wrong", [{"lipschitz": -1}, {"strong_convexity": 0.0}, {"forget": -1}, {"retained": 0}, {"gradient_norm": -1}]
)
def test_wrong_numbers_are_refused(wrong):
    right = {
        "lipschitz": 1.0, "strong_convexity": 0.1, "forget": 1, "retained": 9, "gradient_norm": 0.0,
        "reference_gradient_norm": 0.0,
    }  # fmt: skip
    with pytest.raises(ConfigError):
        regularized_head(**(right | wrong))
