"""Retained data: any iterable of batches that can be gone through again, and none of the forgotten samples in it."""

import pytest
import rig
import torch
from torch.utils.data import DataLoader, TensorDataset

import expunge
from expunge import DataError


def dataset(count=24):
    return TensorDataset(*rig.points(count))


def loader_of(data, size=6):
    return DataLoader(data, batch_size=size)


def numbered(count=24):
    """Batches that carry their samples' numbers."""
    x, y = rig.points(count)
    return [(x[i : i + 6], y[i : i + 6], torch.arange(i, i + 6)) for i in range(0, count, 6)]


def loss(model, batch):
    return rig.cross_entropy(model, batch[:2])


def numbers(batch):
    return batch[2]


def without(*forgotten, count=24):
    return [index for index in range(count) if index not in forgotten]


def test_a_loader_is_gone_through_again_and_again():
    taken = []

    def counting(model, batch):
        taken.append(batch[2][0].item())
        return loss(model, batch)

    rig.unlearn(rig.mlp(), rig.plan(rig.mlp(), steps=6), loader=numbered(), loss=counting)
    assert taken == [0, 6, 12, 18, 0, 6]


@pytest.mark.parametrize("empty", [[], DataLoader([], batch_size=2), iter([])])
def test_an_empty_loader(empty):
    with pytest.raises(DataError, match="gave no batch"):
        rig.unlearn(rig.mlp(), loader=empty)


def test_an_iterator_that_is_used_up():
    with pytest.raises(DataError, match="iterated again"):
        rig.unlearn(rig.mlp(), rig.plan(rig.mlp(), steps=3), loader=iter(rig.batches(size=12)))
    with pytest.raises(DataError, match="iterated again"):
        rig.unlearn(rig.mlp(), rig.plan(rig.mlp(), steps=3), loader=(batch for batch in rig.batches(size=12)))


def test_an_iterator_that_is_long_enough():
    assert rig.unlearn(rig.mlp(), loader=iter(rig.batches(size=6)))


@pytest.mark.parametrize("what", [lambda: iter([]), None, 3], ids=["generator function", "None", "number"])
def test_what_cannot_be_iterated(what):
    with pytest.raises(expunge.ExpungeError, match="must be an iterable"):
        expunge.unlearn(rig.mlp(), what, rig.cross_entropy, rig.plan(rig.mlp()))
