"""Batches by indexing, and looking at a run without changing it."""

import math

import pytest
import torch
from torch import nn

from expunge.experiments.curve import Curve
from expunge.experiments.view import View, indices_of
from expunge.unlearning import Progress
from expunge.workloads import Augment, Dataset, Recipe, Workload


def workload(augment=None, batch_size=8):
    torch.manual_seed(0)
    images, labels = torch.randint(256, (50, 1, 6, 6), dtype=torch.uint8), torch.arange(50) % 3
    data = Dataset("toy", images[:40], labels[:40], images[40:], labels[40:], 3, mean=(100.0,), std=(50.0,))
    recipe = Recipe(
        workload="toy", scale="laptop", dataset="toy", model="mlp", optimizer="sgd", lr=0.1, epochs=1,
        batch_size=batch_size, l2=0.5, augment=augment or Augment(),
    )  # fmt: skip
    return Workload(recipe, data)


def test_every_sample_comes_once_with_its_own_input_and_label():
    view = View(workload())
    indices = torch.arange(0, 40, 2)
    batches = view.batches(indices, augmented=True)
    seen = list(batches)
    assert len(seen) == len(batches) == 3
    assert torch.cat([indices_of(batch) for batch in seen]).sort().values.tolist() == indices.tolist()
    for inputs, labels, rows in seen:
        assert torch.equal(labels, view.labels[rows])
        assert torch.allclose(inputs, (view.workload.dataset.inputs[rows].float() - 100.0) / 50.0)
    assert [indices_of(b).tolist() for b in batches] != [indices_of(b).tolist() for b in seen]


def test_augmentation_is_for_retained_data_alone():
    view = View(workload(Augment(crop=2, flip=True)))
    rows = torch.arange(8)
    exact = (view.workload.dataset.inputs[:8].float() - 100.0) / 50.0

    def first(augmented):
        inputs, _, order = next(iter(view.batches(rows, augmented=augmented)))
        return inputs[order.argsort()]

    assert torch.allclose(first(False), exact)
    assert not torch.allclose(first(True), exact)
    judged = torch.cat([inputs for inputs, _ in view.judged(rows, None, 3)])
    assert torch.allclose(judged, exact)


def test_what_is_judged_is_in_order_and_cut_where_it_should_be():
    view = View(workload())
    labels = torch.cat([labels for _, labels in view.judged(torch.arange(40), 10, 4)])
    assert torch.equal(labels, view.labels[:10])
    assert sum(len(labels) for _, labels in view.judged(None, None, 4)) == 10


def test_the_loss_is_that_of_the_training():
    view, model = View(workload()), nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    batch = next(iter(view.batches(torch.arange(8), augmented=False)))
    squares = sum(float(p.detach().square().sum()) for p in model.parameters())
    plain = nn.functional.cross_entropy(model(batch[0]), batch[1])
    assert view.loss(model, batch).item() == pytest.approx(plain.item() + 0.25 * squares, rel=1e-5)


def test_a_curve_looks_at_wider_and_wider_intervals_and_changes_nothing():
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 3), nn.BatchNorm1d(3))
    curve = Curve(torch.randn(10, 1, 6, 6), torch.zeros(10, dtype=torch.long))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for step in range(1, 4):
        curve(Progress("noise", step, 3, block=0), model)
    for step in range(1, 101):
        curve(Progress("fine-tune", step, 100, loss=1.0), model)
    steps = [point["step"] for point in curve.points if point["phase"] == "fine-tune"]
    assert [point["step"] for point in curve.points if point["phase"] == "noise"] == [1, 2, 3]
    assert steps[:5] == [1, 2, 3, 4, 5]
    assert steps[-1] == 100
    assert 15 < len(steps) < 30
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.training
    curve(Progress("clean", 1, 1, loss=math.nan), model)
    assert curve.points[-1]["loss"] is None  # JSON has no such number
