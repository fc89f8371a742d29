"""The loop: the same recipe, stream and seed give the same model, whatever happens on the way."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import nn

from expunge import weights
from expunge.errors import ConfigError, DataError
from expunge.workloads import (
    Augment,
    Dataset,
    RandomDeletion,
    Recipe,
    Stream,
    Workload,
    accuracy,
    linear_head,
    open_workload,
    split,
    train,
)
from expunge.workloads.seeds import generator

RECIPE = Recipe(
    workload="small", scale="laptop", dataset="small", model="none", optimizer="sgd", lr=0.05, momentum=0.9,
    weight_decay=1e-3, epochs=3, batch_size=16, augment=Augment(crop=2, flip=True), schedule="cosine",
)  # fmt: skip
KINDS = {
    "sgd": RECIPE,
    "adamw": replace(RECIPE, optimizer="adamw", lr=0.003),
    "lbfgs": replace(RECIPE, optimizer="lbfgs", lr=1.0, batch_size=None, l2=1e-2, epochs=8, augment=Augment()),
}


def network():
    """With everything that a run has to carry: batch statistics and dropout."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(144, 10)
        )


def digest(model):
    return weights.digest(model.state_dict())


def gap(one, other):
    return math.sqrt(sum((a - b).detach().double().square().sum().item() for a, b in zip(one, other, strict=True)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_one_model_whatever_the_global_generator_does(small, kind):
    results = []
    for outside in (1, 2):
        torch.manual_seed(outside)
        before = torch.get_rng_state()
        results.append(digest(train(network(), Stream(small), KINDS[kind], seed=5)))
        assert torch.equal(torch.get_rng_state(), before)
    assert results[0] == results[1]
    assert digest(train(network(), Stream(small), KINDS[kind], seed=6)) != results[0]


class KilledError(Exception):
    pass


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_ends_bit_for_bit_where_it_would_have_ended(small, tmp_path, kind):
    recipe, whole, steps = KINDS[kind], [], []
    straight = train(network(), Stream(small), recipe, seed=5, on_epoch=whole.append, on_step=lambda s: steps.append(s))
    for stop in range(1, len(steps)):
        path = tmp_path / f"{stop}.checkpoint"

        def dies(step, stop=stop):
            if step.step == stop + 1:
                raise KilledError

        options = {"seed": 5, "checkpoint": path, "checkpoint_every": 0.0}
        with pytest.raises(KilledError):
            train(network(), Stream(small), recipe, on_step=dies, **options)
        told, again = [], []
        resumed = train(network(), Stream(small), recipe, on_epoch=told.append, on_step=again.append, **options)
        assert digest(resumed) == digest(straight), stop
        assert [step.step for step in again] == list(range(stop + 1, len(steps) + 1))
        assert [without_time(row) for row in told] == [without_time(row) for row in whole]
    finished = train(network(), Stream(small), recipe, on_step=again.append, **options)
    assert digest(finished) == digest(straight)
    assert again[-1].step == len(steps)


def without_time(row):
    return {name: value for name, value in row.items() if "seconds" not in name}


def test_a_checkpoint_of_another_run_is_refused(small, tmp_path):
    path = tmp_path / "checkpoint"
    train(network(), Stream(small), RECIPE, seed=5, checkpoint=path)
    assert path.stat().st_mode & 0o777 == 0o600
    other = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    for model, stream, recipe, seed in [
        (network(), Stream(small), RECIPE, 6),
        (network(), Stream(small), replace(RECIPE, lr=0.1), 5),
        (network(), Stream(small, torch.arange(39)), RECIPE, 5),
        (other, Stream(small), RECIPE, 5),
    ]:
        with pytest.raises(ConfigError, match="checkpoint of another run"):
            train(model, stream, recipe, seed=seed, checkpoint=path)
    for content in (b"", b"nonsense" * 100, path.read_bytes()[:-5]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="no checkpoint of a run"):
            train(network(), Stream(small), RECIPE, seed=5, checkpoint=path)


def test_coupled_runs_see_the_same_slots_in_the_same_order_with_the_same_augmentation(small):
    """The retained run's samples differ in the removed slots, and nowhere else."""
    parts = split(small, RandomDeletion(0.2), seed=1)
    index_map = torch.arange(40)
    index_map[parts.forget] = parts.retain[: len(parts.forget)]
    seen = []
    for stream in (Stream(small), Stream(small, index_map)):
        batches = []
        model = network()
        model.register_forward_pre_hook(
            lambda module, inputs, b=batches: b.append(inputs[0].clone()) if module.training else None
        )
        train(model, stream, RECIPE, seed=3)
        seen.append(torch.cat(batches))
    order = torch.cat([torch.randperm(40, generator=g) for g in (generator(3, "order", epoch) for epoch in range(3))])
    differs = (seen[0] != seen[1]).flatten(1).any(1)
    assert torch.equal(differs, torch.isin(order, parts.forget))
    assert 0 < differs.sum() < len(differs)


def test_without_a_difference_coupled_runs_are_one(small):
    one, other = (train(network(), Stream(small, m), RECIPE, seed=3) for m in (None, torch.arange(40)))
    assert digest(one) == digest(other)


def test_it_is_the_plain_loop(small):
    """Against a loop that anyone would write: torch's SGD, the schedule, the order."""
    recipe = replace(RECIPE, augment=Augment())
    got, model = network(), network()
    got[4] = model[4] = nn.Identity()  # no dropout, whose draws the plain loop would have to repeat
    train(got, Stream(small), replace(recipe, epochs=2), seed=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    x, y = (small.inputs.float() - 127.5) / 74.0, small.labels
    for epoch in range(2):
        for slots in torch.randperm(40, generator=generator(3, "order", epoch)).split(16):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[slots]), y[slots]).backward()
            optimizer.step()
        schedule.step()
    assert digest(got) == digest(model)


def test_lbfgs_finds_the_minimum_of_a_convex_head():
    chance = torch.Generator().manual_seed(0)
    x, y = torch.randn(200, 6, generator=chance), torch.randint(3, (200,), generator=chance)
    data = Dataset("points", x, y, x, y, 3)
    recipe = replace(KINDS["lbfgs"], epochs=60)
    head = train(linear_head(6, 3), Stream(data), recipe, seed=0)
    loss = nn.functional.cross_entropy(head(x), y) + 0.005 * sum(p.square().sum() for p in head.parameters())
    gradient = torch.autograd.grad(loss, list(head.parameters()))
    assert gap(gradient, [torch.zeros_like(g) for g in gradient]) < 5e-5


def test_steps_stop_it_and_metrics_say_what_was_measured(small):
    rows, steps = [], []
    recipe = replace(RECIPE, steps=4, test_samples=6)
    model = train(network(), Stream(small), recipe, seed=3, on_epoch=rows.append, on_step=steps.append)
    assert [(s.epoch, s.step, s.steps) for s in steps] == [(1, 1, 4), (1, 2, 4), (1, 3, 4), (2, 4, 4)]
    assert [(row["epoch"], row["step"], row["test_samples"]) for row in rows] == [(1, 3, 6), (2, 4, 6)]
    assert all(math.isfinite(step.loss) for step in steps)
    assert rows[1]["loss"] == pytest.approx(steps[3].loss)
    assert rows[0]["loss"] == pytest.approx(sum(s.loss * n for s, n in zip(steps, (16, 16, 8), strict=False)) / 40)
    model.eval()
    x = (small.test_inputs.float() - 127.5) / 74.0
    right = (model(x).argmax(1) == small.test_labels)[:6].float().mean().item()
    assert rows[1]["test_accuracy"] == pytest.approx(right)
    json.dumps(rows, allow_nan=False)


def test_accuracy_leaves_the_model_as_it_was(small):
    model = network().train()
    before = digest(model)
    found = accuracy(model, small.inputs, small.labels, mean=(127.5,), std=(74.0,), batch_size=7)
    assert 0.0 <= found <= 1.0
    assert model.training
    assert digest(model) == before


def test_a_loss_that_is_not_finite_names_its_step(small):
    with pytest.raises(DataError, match=r"the loss is (nan|inf) at step [2-9] of 9 \(seed 3\)"):
        train(network(), Stream(small), replace(RECIPE, lr=1e30), seed=3)
    with pytest.raises(DataError, match="the loss is nan at step 2 of 1"):
        train(network(), Stream(small), replace(RECIPE, lr=1e38, steps=1, weight_decay=1e10), seed=3)


def test_a_model_without_parameters_to_train_is_refused(small):
    with pytest.raises(ConfigError, match="no trainable parameter"):
        train(network().requires_grad_(requires_grad=False), Stream(small), RECIPE, seed=3)


def test_a_stream_gives_samples_by_slot(small):
    stream = Stream(small, torch.tensor([5, 5, 0]))
    assert len(stream) == 3
    image, label = stream[1]
    assert torch.equal(image, small.inputs[5])
    assert label == small.labels[5]
    images, labels = stream.batch(torch.tensor([2, 0]))
    assert torch.equal(images, small.inputs[[0, 5]])
    assert torch.equal(labels, small.labels[[0, 5]])
    assert len({Stream(small).sha256, stream.sha256, Stream(small, torch.tensor([5, 0, 5])).sha256}) == 3
    assert Stream(small).sha256 == Stream(small, torch.arange(40)).sha256
    for index_map, told in [
        (torch.tensor([0, 40]), "names sample 40; there are 40"),
        (torch.tensor([-1]), "names sample -1"),
        (torch.tensor([], dtype=torch.int64), "one or more"),
        (torch.tensor([0.0]), r"got torch\.float32"),
    ]:
        with pytest.raises(DataError, match=told):
            Stream(small, index_map)


def test_digits_are_learned():
    pytest.importorskip("sklearn")
    workload = open_workload("digits-mlp")
    rows = []
    model = workload.train(workload.stream(), 0, on_epoch=rows.append)
    assert rows[-1]["test_accuracy"] > 0.94
    assert workload.accuracy(model) == rows[-1]["test_accuracy"]
    assert all(a["step"] < b["step"] for a, b in pairwise(rows))
    assert digest(workload.train(workload.stream(), 0)) == digest(model)
    assert digest(workload.model(1)) != digest(workload.model(0))


def test_a_workload_can_be_changed_and_asks_for_what_it_needs(small, real):
    assert open_workload("digits-mlp", epochs=2, lr=0.01).recipe.lr == 0.01
    with pytest.raises(ConfigError, match="cifar10-head needs the public weights of mobilenet_v2"):
        open_workload("cifar10-head", data_dir=real)
    head = Workload(
        replace(KINDS["lbfgs"], model="mlp_head"),
        replace(small, inputs=torch.zeros(40, 7), test_inputs=torch.zeros(10, 7)),
    )
    assert head.model(0)(torch.zeros(1, 7)).shape == (1, 10)
