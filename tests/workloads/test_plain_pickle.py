"""The python version of CIFAR-10 is data here, never a program."""

import os
import pickle

import numpy as np
import pytest
import torch
from python2_pickle import array, batch, number, text

from expunge.errors import DataError
from expunge.workloads import plain_pickle

IMAGES = torch.arange(24, dtype=torch.uint8).reshape(4, 6)


def read(tmp_path, content):
    path = tmp_path / "data_batch_1"
    path.write_bytes(content)
    return plain_pickle.read(path)


def test_it_reads_what_pickle_reads(tmp_path):
    content = batch(IMAGES, [3, 300, 70000, -1])
    found = read(tmp_path, content)
    truth = pickle.loads(content, encoding="bytes")
    assert found.keys() == truth.keys()
    assert torch.equal(found[b"data"], torch.from_numpy(truth[b"data"].copy()))
    assert all(found[key] == truth[key] for key in truth if key != b"data")
    assert found[b"labels"] == [3, 300, 70000, -1]
    assert found[b"filenames"] == [b"leptodactylus_pentadactylus_s_000004.png"] * 2


class Bomb:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_program_is_refused_and_not_run(tmp_path, protocol):
    target = tmp_path / "was here"
    content = pickle.dumps({b"data": Bomb(f"'{target}'")}, protocol)
    pickle.loads(content)
    assert target.exists()  # the bomb is live
    target.unlink()
    with pytest.raises(DataError, match="It was not executed"):
        read(tmp_path, content)
    assert not target.exists()


def evil(path, arguments=b"(U\x02idtR"):
    return batch(IMAGES, [1], data=b"c" + path.replace(".", "\n").encode() + b"\n" + arguments)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (evil("posix.system"), "asks for 'posix.system'"),
        (evil("builtins.eval"), "asks for 'builtins.eval'"),
        (evil("numpy.load"), "asks for 'numpy.load'"),
        (evil("numpy.ndarray"), "calls something that is not an array"),
        (evil("numpy.dtype", b"(U\x02O8K\x00K\x01tR"), "calls something that is not an array"),
        (b"\x80\x02(i" + b"posix\nsystem\n.", "opcode INST"),
        (b"\x80\x02(cos\nsystem\nU\x02ido.", "asks for 'os.system'"),
        (b"\x80\x04.", "protocol 4, expected 2 or less"),
        (b"\x80\x02\x8c\x01a.", "opcode SHORT_BINUNICODE"),
        (b"\x80\x02Vabc\n.", "opcode UNICODE"),
        (b"\x80\x02\x82\x01.", "opcode EXT1"),
        (b"\x80\x02Ppersistent\n.", "opcode PERSID"),
        (b"\x80\x02\x8a\x01\x05.", "opcode LONG1"),
        (batch(IMAGES, [1], data=array(IMAGES, kind="O8")), "calls something that is not an array"),
        (batch(IMAGES, [1], data=array(IMAGES, order=b"\x88")), "not a plain one of unsigned bytes"),
        (batch(IMAGES, [1])[:-1], "not a batch"),
        (batch(IMAGES, [1])[:-40], "not a batch"),
        (batch(IMAGES, [1]) + b"x", "does not end after one value"),
        (b"", "not a batch"),
        (b"\x80\x02.", "does not end after one value"),
        (b"\x80\x02K\x01.", "a dict is missing"),
        (b"\x80\x02}K\x01K\x02K\x03s.", "a dict is missing"),
        (b"\x80\x02}}.", "not end after one value"),
        (b"\x80\x02}(K\x01u.", "key without a value"),
        (b"\x80\x02}]K\x01s.", "not a batch"),
        (b"\x80\x02u.", "mark is missing"),
        (b"\x80\x02}e.", "mark is missing"),
        (b"\x80\x02R.", "value is missing"),
        (b"\x80\x02h\x05.", "not a batch"),
        (b"\x80\x02}K\x01b.", "sets the state"),
        (b"\xff\xfe", "not a batch"),
        (batch(IMAGES, [1]).replace(b"\x00\x01\x02\x03", b"\x00\x01\x02"), "not a batch"),
    ],
)
def test_whatever_is_not_of_these_files_is_refused(tmp_path, content, told):
    with pytest.raises(DataError, match="data_batch_1") as caught:
        read(tmp_path, content)
    assert told in str(caught.value)


def test_a_shape_that_does_not_fit_its_bytes_is_refused(tmp_path):
    wrong = array(IMAGES).replace(number(4) + number(6) + b"\x86", number(4) + number(7) + b"\x86")
    with pytest.raises(DataError, match="not a batch"):
        read(tmp_path, batch(IMAGES, [1], data=wrong))


def test_random_damage_never_escapes(tmp_path):
    """Any outcome but a value or a DataError would be a way out."""
    content = np.frombuffer(batch(IMAGES, [1, 2, 3]), np.uint8)
    chance = np.random.default_rng(0)
    for _ in range(3000):
        damaged = content.copy()
        for place in chance.integers(len(content), size=int(chance.integers(1, 4))):
            damaged[place] = chance.integers(256)
        try:
            read(tmp_path, damaged.tobytes())
        except DataError:
            continue


def test_text_is_bytes():
    assert pickle.loads(b"\x80\x02" + text("é" * 200) + b".", encoding="bytes") == ("é" * 200).encode()
