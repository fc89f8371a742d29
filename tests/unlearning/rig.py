"""What the tests share: small models and data, a plan with sensible values, a run."""

import torch
from torch import nn
from torch.nn import functional

import expunge
from expunge import FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation, Whole

DESIGNS = [Whole(), RandomRotation(3), FastRotation(3), Permutation(3), LayerCycle(2), HeadBody()]
SETTINGS = {
    "proximity": 0.05,
    "epsilon": 30.0,
    "delta": 1e-5,
    "clip": 0.5,
    "step_size": 0.01,
    "weight_decay": 1.0,
    "steps": 2,
}
OUTPUT_PERTURBATION = {"clip": 0.0, "weight_decay": 0.0, "steps": 1}


def kind_of(design):
    return type(design).__name__


def mlp(*, dropout=0.0, norm=False, seed=0):
    """4 → 6 → 3."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = [nn.Linear(4, 6), *([nn.BatchNorm1d(6)] if norm else []), nn.ReLU()]
        return nn.Sequential(*layers, *([nn.Dropout(dropout)] if dropout else []), nn.Linear(6, 3))


def points(count=24, *, features=4, seed=0):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(count, features, generator=random), torch.randint(0, 3, (count,), generator=random)


def batches(size=8, **keywords):
    """A list of (x, y) batches: a loader without randomness."""
    return list(zip(*(tensor.split(size) for tensor in points(**keywords)), strict=True))


def cross_entropy(model, batch):
    x, y = batch
    return functional.cross_entropy(model(x), y)


def plan(model, blocks=None, **changes):
    return expunge.plan(model, blocks=blocks or Whole(), **(SETTINGS | changes))


def unlearn(model, made=None, *, loader=None, loss=cross_entropy, **options):
    return expunge.unlearn(model, loader if loader is not None else batches(), loss, made or plan(model), **options)


def copies(model):
    """The parameters' values as they are now."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def ledger(outcome):
    return outcome.record.ledger
