"""Digits, a small model trained on them, and tasks made from both."""

import copy

import pytest
import torch
from torch.nn.functional import cross_entropy

from expunge.methods import Task
from expunge.workloads import ClassDeletion, RandomDeletion, open_workload, split


class Batches:
    """(inputs, labels, indices), shuffled."""

    def __init__(self, inputs, labels, indices, size=64):
        self.inputs, self.labels, self.indices, self.size = inputs, labels, indices, size

    def __len__(self):
        return -(-len(self.indices) // self.size)

    def __iter__(self):
        for rows in self.indices[torch.randperm(len(self.indices))].split(self.size):
            yield self.inputs[rows], self.labels[rows], rows


def loss(model, batch):
    return cross_entropy(model(batch[0]), batch[1])


class Digits:
    """Tasks, and how often a model is right."""

    def __init__(self):
        self.workload = open_workload("digits-mlp")
        data = self.workload.dataset
        self.inputs = (data.inputs.float() - 4.88) / 6.02
        self.labels = data.labels
        self.model = self.workload.train(self.workload.stream(), 0).eval()
        self.parts = {
            "random": split(data, RandomDeletion(0.1), 0),
            "class": split(data, ClassDeletion(5), 0),
        }

    def batches(self, indices, **options):
        return Batches(self.inputs, self.labels, indices, **options)

    def task(self, deletion="class", **changes):
        parts = self.parts[deletion]
        values = {
            "model": copy.deepcopy(self.model),
            "retain": self.batches(parts.retain),
            "loss": loss,
            "forget": self.batches(parts.forget),
            "fresh": lambda: self.workload.model(0),
            "train": self.train,
            "forget_indices": parts.forget.tolist(),
            "indices": lambda batch: batch[2],
        }
        return Task(**{**values, **changes})

    @staticmethod
    def train(model, retain):
        """Two epochs."""
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for _ in range(2):
            for batch in retain:
                optimizer.zero_grad()
                loss(model, batch).backward()
                optimizer.step()

    def right(self, model, indices):
        model.eval()
        with torch.no_grad():
            return float((model(self.inputs[indices]).argmax(1) == self.labels[indices]).float().mean())

    def ua_ra(self, model, deletion="class"):
        parts = self.parts[deletion]
        return 1.0 - self.right(model, parts.forget), self.right(model, parts.retain)


@pytest.fixture(scope="session")
def digits():
    pytest.importorskip("sklearn")
    return Digits()
