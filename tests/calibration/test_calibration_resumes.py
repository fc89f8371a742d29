"""Finished runs are never lost, and never repeated."""

import json
import stat

import pytest
import torch
from runs import Diary, Diverging, Fixed, Points, train, watched

from expunge import IndexDeletion, RandomDeletion
from expunge.calibration import calibrate
from expunge.errors import ConfigError, DataError

TENTH = RandomDeletion(0.1)


class InterruptedHereError(Exception):
    """As a Ctrl-C would."""


def stop_after(count):
    told = []

    def on_pair(result):
        told.append(result["pair"])
        if len(told) == count:
            raise InterruptedHereError

    return on_pair


def test_an_interrupted_calibration_goes_on_where_it_was(tmp_path):
    diary = Diary(tmp_path / "diary")
    with pytest.raises(InterruptedHereError):
        calibrate(diary, Points(), TENTH, pairs=4, folder=tmp_path / "kept", on_pair=stop_after(2))
    assert len(diary.runs()) == 3  # the base run and two pairs
    told = []
    found = calibrate(
        diary, Points(), TENTH, pairs=4, folder=tmp_path / "kept", on_pair=lambda p: told.append(p["pair"])
    )
    assert len(diary.runs()) == 5
    assert told == [0, 1, 2, 3]
    assert found.gaps == calibrate(train, Points(), TENTH, pairs=4).gaps


def test_an_interrupted_base_run_is_begun_again(tmp_path):
    def dying(stream, seed):
        for place, snapshot in enumerate(watched(stream, seed)):
            if place == 2 and dying.alive:
                raise InterruptedHereError
            yield snapshot

    dying.alive = True
    with pytest.raises(InterruptedHereError):
        calibrate(dying, Points(), TENTH, pairs=2, folder=tmp_path)
    dying.alive = False
    assert (
        calibrate(dying, Points(), TENTH, pairs=2, folder=tmp_path).gaps
        == calibrate(watched, Points(), TENTH, pairs=2).gaps
    )


def test_what_is_finished_is_not_trained_again(tmp_path):
    diary = Diary(tmp_path / "diary")
    first, again = (calibrate(diary, Points(), TENTH, pairs=3, folder=tmp_path / "kept") for _ in range(2))
    assert len(diary.runs()) == 4
    assert first.to_dict() == again.to_dict()


def test_more_pairs_can_be_added_later(tmp_path):
    diary = Diary(tmp_path / "diary")
    calibrate(diary, Points(), TENTH, pairs=2, folder=tmp_path / "kept")
    found = calibrate(diary, Points(), TENTH, pairs=5, folder=tmp_path / "kept")
    assert len(diary.runs()) == 6
    assert found.gaps == calibrate(train, Points(), TENTH, pairs=5).gaps
    assert found.proximity.failure == 1 / 6


def test_a_failed_pair_stays_failed(tmp_path):
    singles = Fixed(((1,), (2,), (3,), (4,)))
    for _ in range(2):
        found = calibrate(Diverging("raise", missing=3), Points(), singles, pairs=4, folder=tmp_path)
        assert ["failed" in pair for pair in found.pairs] == [False, False, True, False]


def test_weights_that_saw_everything_are_for_their_owner_alone(tmp_path):
    calibrate(watched, Points(), TENTH, pairs=1, folder=tmp_path)
    files = list(tmp_path.glob("*.safetensors"))
    assert len(files) == 3
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


@pytest.mark.parametrize(
    "change",
    [
        {"deletion": RandomDeletion(0.2)},
        {"seed": 1},
        {"threads": 2},
        {"train": watched},
        {"clean": lambda *_: None, "entry": "{}"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_calibration_does_not_go_on_in_this_folder(tmp_path, change):
    calibrate(train, Points(), TENTH, pairs=1, folder=tmp_path)
    settings = {"train": train, "deletion": TENTH} | change
    with pytest.raises(ConfigError, match="another calibration"):
        calibrate(dataset=Points(), pairs=1, folder=tmp_path, **settings)


def test_other_data_does_not_go_on_in_this_folder(tmp_path):
    class Named(Points):
        def __init__(self, sha256):
            super().__init__()
            self.sha256 = sha256

    calibrate(train, Named("a"), TENTH, pairs=1, folder=tmp_path)
    with pytest.raises(ConfigError, match="another calibration"):
        calibrate(train, Named("b"), TENTH, pairs=1, folder=tmp_path)


def test_a_deletion_that_changed_its_mind_does_not_go_on(tmp_path):
    class Moody:
        index = 1

        def forget(self, dataset, seed):
            return torch.tensor([self.index])

        def describe(self):
            return {"kind": "moody"}

    calibrate(train, Points(), Moody(), pairs=1, folder=tmp_path)
    Moody.index = 2
    with pytest.raises(ConfigError, match="another calibration"):
        calibrate(train, Points(), Moody(), pairs=1, folder=tmp_path)


def test_a_damaged_file_is_no_result(tmp_path):
    calibrate(train, Points(), IndexDeletion([1]), pairs=2, folder=tmp_path)
    (tmp_path / "pair-0001.json").write_text('{"pair": 1, "gap": {"total": 0.0')
    with pytest.raises(DataError, match=r"pair-0001.json is damaged .* Delete it"):
        calibrate(train, Points(), IndexDeletion([1]), pairs=2, folder=tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot make the folder"):
        calibrate(train, Points(), TENTH, pairs=1, folder=tmp_path / "file" / "folder")


def test_without_a_folder_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    calibrate(train, Points(), TENTH, pairs=1)
    assert list(tmp_path.iterdir()) == []


def test_pairs_on_disk_are_plain_json(tmp_path):
    found = calibrate(train, Points(), TENTH, pairs=1, folder=tmp_path)
    assert json.loads((tmp_path / "pair-0000.json").read_text()) == found.pairs[0]
