"""Small models that remember their data: noisy labels, learned by heart. And outputs made up from numbers."""

from functools import cache

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from expunge import audit

FEATURES, CLASSES, FORGET, RETAIN, TEST = 12, 3, 80, 160, 400


@cache
def parts():
    """Inputs and labels by part: a linear teacher with a third of its labels drawn by lot."""
    random = torch.Generator().manual_seed(7)
    count = FORGET + RETAIN + TEST
    x, teacher = torch.randn(count, FEATURES, generator=random), torch.randn(FEATURES, CLASSES, generator=random)
    lot = torch.randint(CLASSES, (count,), generator=random)
    y = torch.where(torch.rand(count, generator=random) < 1 / 3, lot, (x @ teacher).argmax(1))
    sizes = (FORGET, RETAIN, TEST)
    return dict(zip(("forget", "retain", "test"), zip(x.split(sizes), y.split(sizes), strict=True), strict=True))


def network(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))


@cache
def trained(seed, *names, steps=150):
    """A model trained on the named parts until it knows them by heart."""
    model = network(seed)
    x, y = (torch.cat(columns) for columns in zip(*(parts()[name] for name in names), strict=True))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


@cache
def asked(seed, *names):
    return audit.collect(trained(seed, *names), batches())


def original(seed=0):
    return asked(seed, "forget", "retain")


def retrained(seed):
    return asked(seed, "retain")


def batches():
    return {name: list(zip(x.split(64), y.split(64), strict=True)) for name, (x, y) in parts().items()}


def made_up(*, seed=0, sizes=(60, 200, 150), classes=4, pull=(1.0, 2.0, 1.0)):
    """Outputs of no model: the same labels for every seed, logits of its own; `pull` is how far the right one stands out."""
    found = {}
    for number, (name, size) in enumerate(zip(("forget", "retain", "test"), sizes, strict=True)):
        labels = np.random.default_rng(number).integers(classes, size=size)
        logits = np.random.default_rng([number, seed]).normal(size=(size, classes))
        logits[np.arange(size), labels] += pull[number]
        found[name] = audit.Part(logits, labels)
    return audit.Outputs(**found)
