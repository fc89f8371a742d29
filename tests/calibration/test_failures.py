"""A pair that failed is recorded and counts as infinite; it never passes for a small gap."""

import json
import math

import pytest
import torch
from runs import Diverging, Fixed, Points, train

from expunge import IndexDeletion, RandomDeletion
from expunge.calibration import calibrate
from expunge.calibration.pair import is_failed
from expunge.errors import ConfigError, DataError, ProximityError

SINGLES = Fixed(((1,), (2,), (3,), (4,), (5,)))  # pair i removes sample i + 1


@pytest.mark.parametrize("how", ["raise", "weights", "metric"])
def test_one_pair_that_diverged_counts_as_infinite(how, tmp_path):
    found = calibrate(Diverging(how, missing=3), Points(), SINGLES, pairs=5)
    assert [is_failed(pair) for pair in found.pairs] == [False, False, True, False, False]
    assert "nan" in found.pairs[2]["failed"].lower() or "not finite" in found.pairs[2]["failed"]
    assert len(found.gaps) == 4
    assert found.proximity.gap == max(found.gaps)
    assert found.proximity.failure == 2 / 6  # the largest finite gap is number two from the top
    assert any("1 pairs failed" in assumption for assumption in found.proximity.assumptions)
    assert "1 of them failed and count as infinite" in found.summary()
    found.save(tmp_path / "proximity.json")
    assert "failed" in json.loads((tmp_path / "proximity.json").read_text())["pairs"][2]


def test_a_failed_pair_makes_a_small_failure_probability_unattainable():
    with pytest.raises(
        ProximityError, match=r"5 pairs, 1 of which failed, support a failure probability of 0\.3333 or more"
    ):
        calibrate(Diverging("raise", missing=3), Points(), SINGLES, pairs=5, failure=1 / 6)


def test_where_every_pair_failed_there_is_no_proximity():
    with pytest.raises(ProximityError, match=r"all 2 pairs failed; the first: .*the loss is nan"):
        calibrate(Diverging("raise", seeds=(0,)), Points(), RandomDeletion(0.1), pairs=2)


def test_a_base_run_that_diverged_fails_its_own_pairs_and_no_others():
    found = calibrate(Diverging("raise", seeds=(6,)), Points(), IndexDeletion([1, 2]), pairs=3, seed=5)
    assert [is_failed(pair) for pair in found.pairs] == [False, True, False]
    assert found.pairs[1]["failed"].startswith("DataError: the run on all data")


@pytest.mark.parametrize("late", [True, False])
def test_snapshots_that_depend_on_the_data_are_a_failure(late):
    def moody(stream, seed):
        count = 3 if 2 in stream.index_map else 2 if late else 4
        return [(step, train(stream, seed)) for step in range(count)]

    with pytest.raises(ProximityError, match="same steps in both"):
        calibrate(moody, Points(), IndexDeletion([2]), pairs=1)


def test_two_different_models_are_a_failure():
    def moody(stream, seed):
        torch.manual_seed(seed)
        return torch.nn.Linear(3, 2 if 2 in stream.index_map else 3)

    with pytest.raises(ProximityError, match="different tensors"):
        calibrate(moody, Points(), IndexDeletion([2]), pairs=1)


def test_a_mistake_in_the_users_code_is_no_divergence_and_is_raised():
    def broken(stream, seed):
        return stream.no_such_thing

    with pytest.raises(AttributeError, match="no_such_thing"):
        calibrate(broken, Points(), RandomDeletion(0.1), pairs=2)


def test_a_division_by_zero_is_a_failure_of_that_pair_alone():
    def fragile(stream, seed):
        if 3 not in stream.index_map:
            1 / 0  # noqa: B018
        return train(stream, seed)

    found = calibrate(fragile, Points(), SINGLES, pairs=5)
    assert [is_failed(pair) for pair in found.pairs] == [False, False, True, False, False]


@pytest.mark.parametrize("forget", [[0, 40], [-1], [3, 3], [], list(range(40)), [0.5]])
def test_an_own_deletion_that_makes_no_sense_is_refused(forget):
    class Own:
        def forget(self, dataset, seed):
            return torch.tensor(forget)

        def describe(self):
            return {"kind": "own"}

    with pytest.raises(DataError):
        calibrate(train, Points(), Own(), pairs=2)


def test_a_clean_phase_that_diverges_is_a_failure():
    def explode(model, stream, seed):
        with torch.no_grad():
            next(model.parameters()).fill_(math.inf)
        return model

    with pytest.raises(ProximityError, match="not finite"):
        calibrate(train, Points(), RandomDeletion(0.1), pairs=2, clean=explode, entry="{}")


def test_a_clean_phase_needs_modules():
    def state(stream, seed):
        return train(stream, seed).state_dict()

    with pytest.raises(ConfigError, match="modules, not state dicts"):
        calibrate(state, Points(), RandomDeletion(0.1), pairs=1, clean=lambda *_: None, entry="{}")
    assert (
        calibrate(state, Points(), RandomDeletion(0.1), pairs=1).gaps
        == calibrate(train, Points(), RandomDeletion(0.1), pairs=1).gaps
    )
