"""Recipes are the paper's numbers, and their schedules are torch's."""

from dataclasses import replace

import pytest
import torch

from expunge.errors import ConfigError
from expunge.workloads import DATASETS, MODELS, RECIPES, Augment, recipe

PAPER = {  # the appendix's tables, retyped
    "mnist-mlp": {"optimizer": "sgd", "lr": 0.005, "momentum": 0.9, "weight_decay": 1e-5, "batch_size": 64},
    "cifar10-resnet18": {
        "optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4, "batch_size": 256, "epochs": 182,
        "schedule": "multistep", "milestones": (91, 136), "augment": Augment(crop=4, flip=True),
    },
    "cifar10-vit_tiny": {
        "optimizer": "adamw", "lr": 3e-4, "weight_decay": 0.05, "batch_size": 64, "epochs": 50, "schedule": "cosine",
        "augment": Augment(flip=True, resize=224), "options": (("image_size", 224), ("pretrained", True)),
    },
}  # fmt: skip


@pytest.mark.parametrize("workload", PAPER)
def test_the_papers_scale_is_the_papers(workload):
    found = recipe(workload, "paper")
    assert {name: getattr(found, name) for name in PAPER[workload]} == PAPER[workload]
    assert found.steps is None
    assert found.test_samples is None
    assert "table" in found.source


def test_every_workload_has_both_scales_and_known_parts():
    workloads = {name for name, _ in RECIPES}
    assert workloads == {*PAPER, "cifar10-head", "cifar10-resnet20", "digits-mlp"}
    for name in workloads:
        for scale in ("laptop", "paper"):
            found = RECIPES[name, scale]
            assert (found.workload, found.scale) == (name, scale)
            assert found.dataset in DATASETS
            assert found.model in {*MODELS, "linear_head", "mlp_head"}
            assert found.describe()["lr"] == found.lr


@pytest.mark.parametrize("workload", ["cifar10-resnet18", "cifar10-vit_tiny", "mnist-mlp"])
def test_the_learning_rate_is_torchs(workload):
    found = recipe(workload, "paper")
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=found.lr)
    scheduler = {
        "multistep": lambda: torch.optim.lr_scheduler.MultiStepLR(optimizer, [91, 136], 0.1),
        "cosine": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50),
        "constant": lambda: torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0),
    }[found.schedule]()
    for epoch in range(found.epochs):
        assert found.rate(epoch) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        optimizer.step()
        scheduler.step()


def test_steps():
    found = recipe("mnist-mlp", "paper")
    assert found.steps_per_epoch(60000) == 938
    assert found.total_steps(60000) == 3 * 938
    assert replace(found, steps=1000).total_steps(60000) == 1000
    assert replace(found, batch_size=None).total_steps(60000) == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"epochs": 0}, "epochs must be a whole number, at least 1; got 0"),
        ({"epochs": None}, "epochs must be a whole number"),
        ({"batch_size": 2.5}, r"batch_size must be a whole number, at least 1; got 2\.5"),
        ({"steps": -1}, "steps must be"),
        ({"lr": float("nan")}, "lr must be a finite number, at least 0; got nan"),
        ({"momentum": -0.1}, "momentum must be"),
    ],
)
def test_a_wrong_number_is_refused(change, told):
    with pytest.raises(ConfigError, match=told):
        replace(recipe("digits-mlp"), **change)


def test_unknown_names_are_refused():
    with pytest.raises(ConfigError, match=r"workload must be one of mnist-mlp, .*; got 'imagenet'"):
        recipe("imagenet")
    with pytest.raises(ConfigError, match="scale must be laptop or paper; got 'huge'"):
        recipe("mnist-mlp", "huge")
