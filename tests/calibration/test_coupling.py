"""Both runs of a pair share everything but the samples that go."""

import math
from collections import Counter

import pytest
import torch
from runs import Points
from torch.utils.data import DataLoader

from expunge.calibration import Stream, base_stream, retained_stream
from expunge.calibration.coupling import chance, checked, fingerprint, retained
from expunge.errors import DataError
from expunge.workloads import index_sha256

GONE = torch.tensor([3, 7, 8, 39])


def test_the_base_run_sees_the_data_as_it_is():
    stream = base_stream(Points())
    assert stream.index_map.tolist() == list(range(40))
    assert all(torch.equal(stream[i][0], Points()[i][0]) for i in range(40))


def test_only_removed_positions_change_and_hold_retained_samples():
    stream = retained_stream(Points(), GONE, seed=5)
    changed = (stream.index_map != torch.arange(40)).nonzero().view(-1)
    assert changed.tolist() == GONE.tolist()
    assert not set(stream.index_map.tolist()) & set(GONE.tolist())
    assert len(stream) == 40


def test_a_data_loader_reads_a_stream_as_any_data_set():
    stream = retained_stream(Points(), GONE, seed=5)
    inputs = torch.cat([batch[0] for batch in DataLoader(stream, batch_size=16)])
    assert torch.equal(inputs, Points().inputs[stream.index_map])


def test_replacements_are_drawn_from_all_retained_samples_alike():
    draws = 4000
    counts = Counter(int(retained_stream(Points(), [11], seed=seed).index_map[11]) for seed in range(draws))
    expected = draws / 39
    assert set(counts) == set(range(40)) - {11}
    assert max(abs(count - expected) for count in counts.values()) < 5 * math.sqrt(expected)


def test_the_same_seed_gives_the_same_stream_and_another_one_another():
    first, again, other = (retained_stream(Points(), GONE, seed=seed).index_map for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_retained_samples_are_all_others():
    assert sorted([*retained(GONE, 40).tolist(), *GONE.tolist()]) == list(range(40))


def test_every_use_of_chance_has_a_seed_of_its_own_that_any_generator_takes():
    seeds = [chance(seed, pair, use) for seed in range(3) for pair in range(50) for use in ("deletion", "slots")]
    assert len(set(seeds)) == len(seeds)
    assert all(50 < seed < 2**31 for seed in seeds)


@pytest.mark.parametrize(
    ("forget", "told"),
    [
        ([], "removes nothing"),
        ([0, 40], r"0 … 39; got 0 … 40"),
        ([-1, 3], r"0 … 39; got -1 … 3"),
        ([3, 9, 3], "index 3 twice"),
        (list(range(40)), "all 40 samples"),
        ([1.5, 2.0], "whole sample indices"),
        (torch.ones(40, dtype=torch.bool), "mask.nonzero"),
        (torch.tensor([[1, 2]]), "whole sample indices"),
    ],
)
def test_a_deletion_that_makes_no_sense_is_refused(forget, told):
    with pytest.raises(DataError, match=told):
        checked(forget, 40)


def test_the_fingerprint_is_the_one_that_certificates_and_splits_have():
    assert fingerprint(checked([9, 2, 5], 40)) == index_sha256(torch.tensor([5, 9, 2]))


def test_a_stream_is_only_an_index_map():
    assert [Stream(list("abc"), torch.tensor([2, 0]))[i] for i in range(2)] == ["c", "a"]
