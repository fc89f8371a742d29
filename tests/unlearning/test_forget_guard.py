"""No forgotten sample in the retained data: not in the loader, not in any batch of any phase."""

import json

import pytest
import rig
import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

import expunge
from expunge import ConfigError, DataError


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


def test_a_subset_without_the_forgotten_passes():
    retained = Subset(dataset(), without(3, 7))
    outcome = rig.unlearn(rig.mlp(), loader=loader_of(retained), forget=[7, 3])
    assert outcome.record.forget_count == 2
    assert "Subset" in outcome.certificate["run"]["retained_how"]
    again = rig.unlearn(rig.mlp(), loader=loader_of(retained), forget=(3, 7))
    other = rig.unlearn(rig.mlp(), loader=loader_of(retained), forget=[3])
    hashes = [o.certificate["sha256"]["forget_set"] for o in (outcome, again, other)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_nested_subsets_are_seen_through():
    inner = Subset(dataset(), without(3))  # sample 10 of the data is number 9 here
    assert rig.unlearn(rig.mlp(), loader=loader_of(Subset(inner, without(9, count=23))), forget=[3, 10])
    with pytest.raises(DataError, match="index 10"):
        rig.unlearn(rig.mlp(), loader=loader_of(Subset(inner, without(10, count=23))), forget=[10])


def test_a_forgotten_sample_in_the_subset():
    model = rig.mlp()
    before = rig.copies(model)
    with pytest.raises(DataError, match=r"1 samples of the forget set \(index 7"):
        rig.unlearn(model, loader=loader_of(Subset(dataset(), without(3))), forget=[3, 7])
    assert rig.equal(before, rig.copies(model))


def test_a_forgotten_sample_under_a_negative_index():
    with pytest.raises(expunge.ExpungeError, match=r"forget|index"):
        rig.unlearn(rig.mlp(), loader=loader_of(Subset(dataset(), [0, 1, 2, -1])), forget=[23])


@pytest.mark.parametrize("kind", [list, tuple, torch.tensor])
def test_indices_of_a_batch(kind):
    def of(batch):
        return kind(batch[2].tolist())

    loader = [batch for batch in numbered() if 8 not in batch[2]]
    outcome = rig.unlearn(rig.mlp(), loader=loader, loss=loss, forget=[8], indices=of)
    assert "every batch" in outcome.certificate["run"]["retained_how"]
    with pytest.raises(DataError, match="index 8"):
        rig.unlearn(rig.mlp(), loader=numbered(), loss=loss, forget=[8], indices=of)


def test_a_forgotten_sample_that_comes_late_is_found_in_every_phase():
    for phase in ({"clean": expunge.FineTune(steps=3)}, {"fine_tune": expunge.FineTune(steps=3)}):
        model = rig.mlp()
        entry = {"proximity": proximity_after(phase["clean"])} if "clean" in phase else {}
        made = rig.plan(model, **(entry | rig.OUTPUT_PERTURBATION))
        with pytest.raises(DataError, match="index 13"):
            rig.unlearn(model, made, loader=numbered(), loss=loss, forget=[13], indices=numbers, **phase)


def test_a_forgotten_sample_in_the_statistics_is_found():
    model = rig.mlp(norm=True)
    with pytest.raises(DataError, match="index 20"):
        rig.unlearn(model, loader=numbered(), loss=loss, forget=[20], indices=numbers, statistics_batches=4)


def proximity_after(recipe):
    return expunge.Proximity(0.05, 0.0, "given", entry=json.dumps(recipe.describe(), sort_keys=True))


@pytest.mark.parametrize("forget", [[3, 3], [7, 3, 7]])
def test_duplicates_are_refused(forget):
    with pytest.raises(DataError, match="twice"):
        rig.unlearn(rig.mlp(), loader=loader_of(Subset(dataset(), without(3, 7))), forget=forget)


@pytest.mark.parametrize("forget", [[-1], [2.5], ["3"]])
def test_indices_that_make_no_sense_are_refused(forget):
    with pytest.raises(expunge.ExpungeError, match="forget"):
        rig.unlearn(rig.mlp(), loader=loader_of(Subset(dataset(), without(2, 3))), forget=forget)


@pytest.mark.parametrize("loader", [loader_of(dataset()), rig.batches()], ids=["whole data set", "list"])
def test_no_way_to_tell_is_refused(loader):
    with pytest.raises(ConfigError, match=r"Subset\(dataset, retained_indices\).*indices="):
        rig.unlearn(rig.mlp(), loader=loader, forget=[3])


def test_without_a_forget_set_the_certificate_says_so():
    outcome = rig.unlearn(rig.mlp())
    assert outcome.certificate["sha256"]["forget_set"] is None
    assert "not given" in outcome.certificate["run"]["retained_how"]
