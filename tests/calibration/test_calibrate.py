"""Which pairs there are, what is run, and what the gaps support."""

import json
import math
from functools import partial

import pytest
import torch
from runs import Diary, Fixed, Points, frozen, loader, loss, train, watched
from runs import deaf as deaf_train

import expunge
from expunge import GroupDeletion, IndexDeletion, RandomDeletion
from expunge.accounting.ledger import read_proximity
from expunge.accounting.proximity import confidence
from expunge.calibration import calibrate, retained_stream
from expunge.calibration.coupling import chance
from expunge.calibration.distance import full_state, gap
from expunge.cli import loading
from expunge.errors import ConfigError, ProximityError

TENTH = RandomDeletion(0.1)


def test_a_gap_is_that_of_two_trainings_done_by_hand():
    found = calibrate(train, Points(), TENTH, pairs=3, seed=4)
    base = train(retained_stream(Points(), [0], 0).__class__(Points(), torch.arange(40)), 4)
    for pair in range(3):
        forget = TENTH.forget(Points(), chance(4, pair, "deletion"))
        twin = train(retained_stream(Points(), forget, chance(4, pair, "slots")), 4)
        assert found.pairs[pair]["gap"]["total"] == gap(twin, full_state(base))["total"] > 0
    assert found.proximity.gap == max(found.gaps)


def test_the_base_run_is_trained_once_where_its_seed_is_shared(tmp_path):
    diary = Diary(tmp_path / "diary")
    found = calibrate(diary, Points(), TENTH, pairs=4, seed=7)
    runs = diary.runs()
    assert [run[0] for run in runs] == [7] * 5
    assert [run[1:] == list(range(40)) for run in runs] == [True] + [False] * 4
    assert found.coupling["seeds"] == [7] * 4
    assert all(len(run) == 41 for run in runs)  # a stream of the data set's length, always


@pytest.mark.parametrize("deletion", [IndexDeletion([1, 2, 30]), GroupDeletion(3)], ids=str)
def test_a_fixed_deletion_has_a_fresh_seed_for_every_pair(tmp_path, deletion):
    diary = Diary(tmp_path / "diary")
    found = calibrate(diary, Points(), deletion, pairs=3, seed=7)
    assert sorted(run[0] for run in diary.runs()) == [7, 7, 8, 8, 9, 9]
    assert found.coupling["seeds"] == [7, 8, 9]
    assert len(set(found.gaps)) == 3
    with pytest.raises(ConfigError, match="same in every pair"):
        calibrate(train, Points(), deletion, pairs=3, shared_base=True)


def test_a_random_deletion_that_repeats_itself_is_still_random():
    found = calibrate(train, Points(), Fixed(((1,), (2,), (1,))), pairs=3)
    assert found.coupling["seeds"] == [0, 0, 0]


def test_fresh_seeds_can_be_asked_for():
    assert calibrate(train, Points(), TENTH, pairs=2, seed=3, shared_base=False).coupling["seeds"] == [3, 4]


@pytest.mark.parametrize(("failure", "rank"), [(None, 1), (0.2, 1), (0.39, 1), (0.4, 2), (2 / 5, 2), (0.99, 4)])
def test_the_order_statistic_is_the_one_that_was_asked_for(failure, rank):
    found = calibrate(train, Points(), TENTH, pairs=4, failure=failure)
    assert found.proximity.gap == sorted(found.gaps)[-rank]
    assert found.proximity.failure == rank / 5
    assert found.confidence == confidence(4, rank / 5, rank=rank)


def test_too_few_pairs_are_refused_and_it_says_how_many_it_takes():
    with pytest.raises(
        ProximityError, match=r"4 pairs support a failure probability of 0\.2 or more; got 0\.05\. Run 19"
    ):
        calibrate(train, Points(), TENTH, pairs=4, failure=0.05)


def test_a_safety_factor_is_an_assumption_and_leaves_the_failure_probability():
    plain, wide = (calibrate(train, Points(), TENTH, pairs=2, safety_factor=factor).proximity for factor in (1.0, 1.5))
    assert wide.gap == pytest.approx(1.5 * plain.gap)
    assert wide.failure == plain.failure
    assert any("safety factor of 1.5" in assumption for assumption in wide.assumptions)


def test_a_training_that_ignores_its_stream_is_refused():
    with pytest.raises(ProximityError, match="every gap is exactly 0"):
        calibrate(deaf_train, Points(), TENTH, pairs=2)


def test_what_was_trained_and_then_frozen_gives_no_gap():
    with pytest.raises(ProximityError, match="is frozen, but differs"):
        calibrate(frozen, Points(), TENTH, pairs=2)


def test_training_that_forgets_to_seed_is_coupled_all_the_same():
    def unseeded(stream, seed):
        model = torch.nn.Linear(3, 2)
        with torch.no_grad():
            model.bias += torch.stack([stream[i][0].sum() for i in range(40)]).mean() + torch.randn(())
        return model

    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = calibrate(unseeded, Points(), TENTH, pairs=2).gaps
    assert torch.equal(torch.get_rng_state(), state)  # the caller's randomness is left alone
    torch.manual_seed(2)
    assert calibrate(unseeded, Points(), TENTH, pairs=2).gaps == first
    assert max(first) < 1.0


def test_a_trajectory_has_the_gap_and_the_metrics_of_every_snapshot():
    found = calibrate(watched, Points(), TENTH, pairs=2)
    assert found.steps == [10, 20, 30]
    for pair in found.pairs:
        assert pair["gap"] == pair["trajectory"][-1]["gap"]
        assert [point["metrics"]["base"]["test_accuracy"] for point in pair["trajectory"]] == [0.6, 0.7, 0.8]
    assert found.gaps == calibrate(train, Points(), TENTH, pairs=2).gaps  # looking on changes nothing


def test_a_checkpoint_of_the_trajectory_has_a_proximity_of_its_own():
    found = calibrate(watched, Points(), TENTH, pairs=3)
    at = found.at(20)
    assert at.gap == max(pair["trajectory"][1]["gap"]["total"] for pair in found.pairs) != found.proximity.gap
    assert at.failure == 0.25
    assert any("not chosen for its small gap" in assumption for assumption in at.assumptions)
    with pytest.raises(ConfigError, match="one of 10, 20, 30; got 15"):
        found.at(15)


def test_after_a_clean_phase_the_gap_is_that_of_the_two_models_it_leaves():
    clean = expunge.FineTune(40, "sgd", lr=0.3, momentum=0.0, weight_decay=1.0)
    found = expunge.calibrate(watched, Points(), deletion=TENTH, pairs=2, clean=clean, loss=loss, loader=loader)
    for pair in found.pairs:
        assert pair["gap"]["total"] < 0.5 * pair["gap_as_trained"]["total"]  # a decay of 0.3 a step contracts
        assert pair["gap_as_trained"] == pair["trajectory"][-1]["gap"]
    assert json.loads(found.proximity.entry) == clean.describe()
    with pytest.raises(ConfigError, match="before the clean phase"):
        found.at(10)


def test_the_clean_phase_runs_on_the_retained_samples_alone_as_the_later_run_does():
    seen = []

    def listening(stream, seed):
        seen.append(stream.index_map.tolist())
        return loader(stream)

    settings = {"clean": expunge.FineTune(1), "loss": loss, "loader": listening}
    expunge.calibrate(train, Points(), deletion=IndexDeletion([3, 5]), pairs=1, **settings)
    assert seen == [[i for i in range(40) if i not in (3, 5)]] * 2


def test_a_clean_phase_of_lbfgs_is_told_apart_by_its_settings():
    settings = [partial(torch.optim.LBFGS, lr=1.0, max_iter=1, history_size=size) for size in (3, 10)]
    found = [
        expunge.calibrate(
            train, Points(), deletion=TENTH, pairs=1, clean=expunge.FineTune(3, each), loss=loss, loader=loader
        )
        for each in settings
    ]
    assert found[0].proximity.entry != found[1].proximity.entry
    assert "history_size=3" in found[0].proximity.entry


def test_the_proximity_file_says_everything_and_is_what_plans_read(tmp_path):
    found = calibrate(train, Points(), TENTH, pairs=3, design=expunge.Permutation(2))
    found.save(tmp_path / "proximity.json")
    text = (tmp_path / "proximity.json").read_text()
    document = json.loads(text)
    assert document["schema"] == loading.CALIBRATION
    assert (
        read_proximity(document["proximity"]) == found.proximity == loading.proximity(str(tmp_path / "proximity.json"))
    )
    assert document["gaps"] == found.gaps
    assert document["coupling"]["deletion"] == TENTH.describe()
    assert len(set(document["coupling"]["forget_sha256"])) == 3
    assert document["coupling"]["design"]["kind"] == "Permutation"
    assert [len(pair["gap"]["per_block"]) for pair in document["pairs"]] == [2, 2, 2]
    assert "They support no failure probability below 0.25; 0.01 would take 99 pairs." in document["says"]
    assert f"confidence {found.confidence:.0%}" in document["says"]


def test_a_proximity_from_calibration_makes_a_plan():
    found = calibrate(train, Points(), TENTH, pairs=2)
    made = expunge.plan(
        train(Points(), 0),
        blocks=expunge.Permutation(2),
        proximity=found,
        epsilon=10,
        delta=1e-5,
        clip=0.1,
        step_size=0.01,
        weight_decay=1.0,
    )
    assert made.gap == max(found.gaps)
    assert made.proximity.failure == 1 / 3


WRONG = [
    ({"pairs": 0}, "pairs must be a whole number"),
    ({"pairs": 2.5}, "pairs must be a whole number"),
    ({"workers": 0}, "workers must be"),
    ({"threads": 0}, "threads must be"),
    ({"seed": 1.5}, "seed must be a whole number"),
    ({"failure": 1.5}, "failure must be"),
    ({"failure": math.nan}, "failure must be"),
    ({"safety_factor": 0.9}, "safety_factor must be"),
    ({"clean": train}, "clean and entry belong together"),
    ({"ray": "auto"}, "Ray needs folder"),
]


@pytest.mark.parametrize(("wrong", "told"), WRONG, ids=str)
def test_wrong_use_is_refused_before_anything_is_trained(wrong, told):
    def untouched(stream, seed):
        raise AssertionError

    with pytest.raises(ConfigError, match=told):
        calibrate(untouched, Points(), TENTH, **wrong)


@pytest.mark.parametrize("made", [None, 3, "model", [], iter([]), [3], [(1,)], [(1, 2)]], ids=repr)
def test_a_training_that_gives_no_model_is_refused_in_words(made):
    with pytest.raises(ConfigError, match="train"):
        calibrate(lambda stream, seed: made, Points(), TENTH, pairs=1)


def test_train_must_be_a_function():
    with pytest.raises(ConfigError, match="train must be a function"):
        calibrate(Points(), Points(), TENTH)
