"""Files and paths that lead to no ledger."""

import contextlib
import random

import pytest

from expunge import accounting as acc
from expunge.errors import DataError


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.json"):
        acc.load(tmp_path / "nowhere.json")


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        acc.load(tmp_path)


def test_a_name_that_no_file_can_have_is_refused():
    for name in ("a\0b", "x" * 5000):
        with pytest.raises(DataError, match="cannot read"):
            acc.load(name)


def test_100_megabytes_are_refused_unread(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    with pytest.raises(DataError, match="larger than 64 MiB"):
        acc.load(path)


def test_an_endless_file_is_refused():
    with pytest.raises(DataError, match="larger than 64 MiB"):
        acc.load("/dev/zero")


def test_binary_is_refused(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)) * 40)
    with pytest.raises(DataError, match="JSON"):
        acc.load(path)


def test_random_damage_never_escapes_as_another_error():
    block = acc.Block((acc.Step(1e-4, 100.0, 2500.0, 0.4),) * 2, 3)
    good, rng = acc.to_json(block).encode(), random.Random(0)
    for _ in range(3000):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            bad[rng.randrange(len(bad))] = rng.choice([rng.randrange(256), *b'0123456789.eE-+"[]{}:,'])
        with contextlib.suppress(DataError):
            assert acc.from_json(bytes(bad))
