"""A project small enough to run a hundred times: three blobs in the plane, and a linear classifier."""

import os
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

CENTRES = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])


def _blobs(count, seed):
    labels = torch.arange(count) % 3
    noise = torch.randn(count, 2, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(CENTRES[labels] + noise, labels)


def dataset():
    return _blobs(150, 0)


def features():
    return dataset().tensors


def test():
    return _blobs(90, 1)


def model():
    return torch.nn.Linear(2, 3)


def train(stream, seed):
    with Path(os.environ.get("TOY_LOG", os.devnull)).open("a") as log:
        log.write(f"{len(stream)} {seed}\n")
    torch.manual_seed(seed)
    return _trained(model(), stream)


def _trained(made, stream):
    optimizer = torch.optim.SGD([parameter for parameter in made.parameters() if parameter.requires_grad], lr=0.1)
    for _ in range(3):
        for inputs, labels in DataLoader(stream, 50, shuffle=True):
            optimizer.zero_grad()
            cross_entropy(made(inputs), labels).backward()
            optimizer.step()
    return made


def loss(made, batch):
    return cross_entropy(made(batch[0]), batch[1])


def regularised(made, batch):
    return loss(made, batch) + 0.05 * sum(parameter.square().sum() for parameter in made.parameters())


def headed():
    made = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    made[0].requires_grad_(False)
    with torch.no_grad():
        for parameter in made[0].parameters():
            parameter.copy_(torch.linspace(-1.0, 1.0, parameter.numel()).view_as(parameter))
    return made


def train_head(stream, seed):
    torch.manual_seed(seed)
    return _trained(headed(), stream)


def retained():
    return DataLoader(torch.utils.data.Subset(dataset(), range(15, 150)), 30, shuffle=True)


def parts():
    data = dataset()
    chosen = {"forget": range(15), "retain": range(15, 150)}
    found = {name: DataLoader(torch.utils.data.Subset(data, indices), 50) for name, indices in chosen.items()}
    return {**found, "test": DataLoader(test(), 50)}
