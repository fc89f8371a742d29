"""Deletion settings and splits."""

import dataclasses
import hashlib
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from expunge.errors import ConfigError, DataError
from expunge.workloads import (
    ClassDeletion,
    GroupDeletion,
    IndexDeletion,
    RandomDeletion,
    Split,
    index_sha256,
    split,
)

SETTINGS = [RandomDeletion(0.25), ClassDeletion(3), IndexDeletion([7, 2, 39]), GroupDeletion(2)]


@pytest.mark.parametrize("deletion", SETTINGS, ids=lambda d: type(d).__name__)
def test_every_setting_splits_and_describes_itself(small, deletion):
    found = split(small, deletion, seed=4)
    both = torch.cat([found.forget, found.retain]).sort().values
    assert torch.equal(both, torch.arange(40))
    assert torch.equal(found.forget, found.forget.sort().values)
    assert torch.equal(found.forget, deletion.forget(small, 4))
    assert deletion.describe()["kind"] in ("random", "class", "indices", "group")
    with pytest.raises(dataclasses.FrozenInstanceError):
        deletion.fraction = 1
    assert found.describe()["forget"] == {"count": len(found.forget), "sha256": found.forget_sha256}


def test_a_random_deletion_is_another_one_with_each_seed(small):
    deletion = RandomDeletion(0.25)
    draws = [tuple(deletion.forget(small, seed).tolist()) for seed in range(20)]
    assert all(len(draw) == 10 for draw in draws)
    assert len(set(draws)) == 20
    assert tuple(deletion.forget(small, 3).tolist()) == draws[3]


def test_a_random_deletion_takes_every_sample_as_often(small):
    """Each of 40 samples in a quarter of 2,000 draws; five standard errors."""
    counts = torch.zeros(40)
    for seed in range(2000):
        counts[RandomDeletion(0.25).forget(small, seed)] += 1
    assert (counts - 500).abs().max() < 5 * (2000 * 0.25 * 0.75) ** 0.5


def test_the_others_mean_the_same_samples_with_every_seed(small):
    assert ClassDeletion(3).forget(small, 0).tolist() == [3, 13, 23, 33] == ClassDeletion(3).forget(small, 1).tolist()
    assert GroupDeletion(2).forget(small, 0).tolist() == list(range(2, 40, 4))
    assert IndexDeletion(torch.tensor([7, 2])).forget(small, 0).tolist() == [2, 7]


def test_any_dataset_with_a_length_will_do():
    class Theirs(SimpleNamespace):
        def __len__(self):
            return 6

    theirs = Theirs(targets=[0, 1, 2, 0, 1, 2], groups=["ann", "bob", "ann", "cy", "bob", "ann"])
    assert ClassDeletion(2).forget(theirs, 0).tolist() == [2, 5]
    assert GroupDeletion("ann").forget(theirs, 0).tolist() == [0, 2, 5]
    assert len(RandomDeletion(0.5).forget(range(6), 0)) == 3
    with pytest.raises(ConfigError, match=r"needs `labels` or `targets`.* range has none"):
        ClassDeletion(0).forget(range(6), 0)
    with pytest.raises(ConfigError, match="to delete a group the data set needs `groups`"):
        GroupDeletion(0).forget(range(6), 0)
    with pytest.raises(DataError, match=r"dataset.groups has 1 entries for 6 samples"):
        GroupDeletion(0).forget(Theirs(groups=[0]), 0)


@pytest.mark.parametrize("fraction", [0, 1.0, -1, -0.1, 1.5, float("nan"), True, "0.1", None])
def test_a_fraction_is_between_zero_and_one(fraction):
    with pytest.raises(
        ConfigError, match="fraction must be a number above 0 and below 1, or a whole number of samples; got"
    ):
        RandomDeletion(fraction)


@pytest.mark.parametrize(
    ("deletion", "told"),
    [
        (RandomDeletion(0.01), "removes nothing: 0.01 of 40 samples"),
        (ClassDeletion(11), "removes nothing: label 11"),
        (GroupDeletion(9), "removes nothing: group 9"),
        (GroupDeletion("ann"), "removes nothing: group 'ann'"),
        (RandomDeletion(0.999), "retain set is empty"),
        (RandomDeletion(40), "retain set is empty"),
        (RandomDeletion(41), "41 of 40 samples"),
        (IndexDeletion(range(40)), "retain set is empty"),
        (IndexDeletion([0, 40]), "forget index 40 is out of range: there are 40 samples"),
    ],
)
def test_nothing_and_everything_are_refused(small, deletion, told):
    with pytest.raises(DataError) as caught:
        split(small, deletion, seed=0)
    assert told in str(caught.value)


@pytest.mark.parametrize("indices", [[], [-1], [1.0], [True], ["1"], [None]])
def test_indices_are_whole_numbers(indices):
    with pytest.raises(DataError, match="must be whole numbers, 0 or more, and at least one"):
        IndexDeletion(indices)


def test_no_index_twice():
    with pytest.raises(DataError, match="index 7 is in the forget list twice"):
        IndexDeletion([1, 7, 3, 7])


def test_indices_from_a_file(tmp_path):
    path = tmp_path / "forget.txt"
    path.write_text("3, 1\n\n 2\t40,5\n")
    assert IndexDeletion.from_file(path).indices == (1, 2, 3, 5, 40)
    for text, told in [("", "at least one"), ("1 two", "nothing else"), ("1.5", "nothing else"), ("3 3", "twice")]:
        path.write_text(text)
        with pytest.raises(DataError, match=told):
            IndexDeletion.from_file(path)
    with pytest.raises(DataError, match="No such file"):
        IndexDeletion.from_file(tmp_path / "none")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="nothing else"):
        IndexDeletion.from_file(path)


@given(st.sets(st.integers(0, 2**40), min_size=1, max_size=30))
def test_the_hash_is_the_certificates(indices):
    packed = b"".join(index.to_bytes(8, "little") for index in sorted(indices))
    assert index_sha256(torch.tensor(list(indices))) == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize(
    ("forget", "retain", "told"),
    [
        ([0, 1], [1, 2, 3], "overlap in 1 samples (index 1 is one)"),
        ([0], [1, 2], "1 of 4 samples are neither"),
        ([], [0, 1, 2, 3], "forget set is empty"),
        ([0, 1, 2, 3], [], "retain set is empty"),
        ([0, 4], [1, 2, 3], "forget index 4 is out of range"),
        ([-1], [0, 1, 2, 3], "forget index -1 is out of range"),
        ([1, 1], [0, 2, 3], "forget index 1 occurs twice"),
        ([1, 0], [2, 3], "forget index 0 is out of order"),
    ],
)
def test_a_split_checks_itself(forget, retain, told):
    with pytest.raises(DataError) as caught:
        Split(torch.tensor(forget, dtype=torch.int64), torch.tensor(retain, dtype=torch.int64), 4)
    assert told in str(caught.value)


def test_a_users_own_deletion_is_checked_too(small):
    for indices, told in [([3, 3], "twice"), ([41], "out of range"), ([], "empty")]:
        mine = SimpleNamespace(forget=lambda *_, i=indices: torch.tensor(i, dtype=torch.int64))
        with pytest.raises(DataError, match=told):
            split(small, mine, seed=0)
    floats = SimpleNamespace(forget=lambda *_: torch.tensor([1.0]))
    with pytest.raises(DataError, match=r"int64 indices; got torch.float32"):
        split(small, floats, seed=0)
