"""What calibration and unlearning ask of a workload: any stream, a trajectory, a loss and a loader."""

from collections import Counter

import pytest
import torch

import expunge
from expunge import RandomDeletion, weights
from expunge.errors import ConfigError
from expunge.workloads import Loader, Stream, open_workload, penalty, split

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def digits():
    return open_workload("digits-mlp", epochs=2)


class Slots:
    """A stream of somebody else's: all that counts is the index map."""

    def __init__(self, index_map):
        self.index_map = index_map


def digest(model):
    return weights.digest(model.state_dict())


def test_any_stream_with_an_index_map_will_do(digits):
    order = torch.arange(len(digits.dataset)).roll(3)
    assert digest(digits.train(Slots(order), 0)) == digest(digits.train(digits.stream(order), 0))
    assert digest(digits.train(Slots(order), 0)) != digest(digits.train(digits.stream(), 0))


def test_a_trajectory_is_the_same_run_looked_at_on_the_way(digits):
    looks = [(step, digest(model), metrics) for step, model, metrics in digits.trajectory(20)(digits.stream(), 1)]
    assert [step for step, _, _ in looks] == [20, 40, 46]  # two epochs of 23 batches
    final = digits.train(digits.stream(), 1)
    assert looks[-1][1] == digest(final)
    assert looks[-1][2]["test_accuracy"] == digits.accuracy(final)


def test_consumers_of_a_trajectory_may_draw_their_own_numbers(digits):
    steps = digits.trajectory(20)(digits.stream(), 1)
    digests = []
    for _, model, _ in steps:
        torch.randn(100)
        digests.append(digest(model))
    assert digests[-1] == digest(digits.train(digits.stream(), 1))


@pytest.mark.parametrize("every", [0, -1, 1.5, True, None])
def test_a_trajectory_needs_a_whole_number_of_steps(digits, every):
    with pytest.raises(ConfigError, match="every must be a whole number"):
        digits.trajectory(every)


def test_calibration_takes_a_workload_as_it_is(digits):
    found = expunge.calibrate(digits.trajectory(23), digits.dataset, deletion=RandomDeletion(0.1), pairs=2)
    assert found.steps == [23, 46]
    assert found.coupling["dataset_sha256"] == digits.dataset.sha256
    assert found.coupling["train"]["recipe"]["epochs"] == 2
    assert found.coupling["train"]["every"] == 23


def test_a_clean_phase_of_a_workload(digits):
    clean = expunge.FineTune(20, lr=0.05, weight_decay=0.1)
    settings = {"clean": clean, "loss": digits.loss, "loader": digits.loader}
    found = expunge.calibrate(digits.train, digits.dataset, deletion=RandomDeletion(0.1), pairs=1, **settings)
    assert 0 < found.gaps[0] < found.pairs[0]["gap_as_trained"]["total"]


def test_a_loader_gives_every_retained_sample_once_an_epoch_and_no_other(digits):
    parts = split(digits.dataset, RandomDeletion(0.3), seed=0)
    batches = list(digits.loader(digits.stream(parts.retain)))
    assert len(batches) == len(digits.loader(digits.stream(parts.retain))) == -(-len(parts.retain) // 64)
    mean, std = digits.dataset.mean[0], digits.dataset.std[0]
    given = Counter(
        bytes((row * std + mean).round().to(torch.uint8).flatten()) for batch, _ in batches for row in batch
    )
    assert given == Counter(bytes(row.flatten()) for row in digits.dataset.inputs[parts.retain])


def test_a_loader_is_shuffled_by_torchs_generator_and_by_nothing_else(digits):
    def labels(seed):
        torch.manual_seed(seed)
        return torch.cat([batch[1] for batch in loader])

    loader = digits.loader(digits.stream())
    assert torch.equal(labels(0), labels(0))
    assert not torch.equal(labels(0), labels(1))


def test_without_a_batch_size_a_batch_is_everything(digits):
    recipe = digits.recipe.__class__(**{**digits.recipe.__dict__, "batch_size": None})
    ((inputs, labels),) = Loader(Stream(digits.dataset), recipe)
    assert len(inputs) == len(labels) == len(digits.dataset)


def test_the_loss_is_the_training_loss_with_its_penalty(digits):
    model, batch = digits.model(0), next(iter(digits.loader(digits.stream())))
    plain = torch.nn.functional.cross_entropy(model(batch[0]), batch[1])
    assert torch.equal(digits.loss(model, batch), plain)
    decayed = open_workload("digits-mlp", l2=0.3)
    assert decayed.loss(model, batch).item() == pytest.approx((plain + penalty(model, 0.3)).item())


def test_a_dataset_has_items(digits):
    image, label = digits.dataset[5]
    assert torch.equal(image, digits.dataset.inputs[5])
    assert label == digits.dataset.labels[5]
