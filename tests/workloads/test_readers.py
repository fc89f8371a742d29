"""IDX, CIFAR-10's two versions, digits: what is read, and what is refused."""

import gzip
import hashlib
import struct

import pytest
import torch
from python2_pickle import batch

from expunge.errors import ConfigError, DataError
from expunge.workloads import Dataset, cifar10, idx, load


def idx_bytes(*sizes, content=None, kind=8):
    data = bytes(torch.arange(torch.Size(sizes).numel()).remainder(251).tolist()) if content is None else content
    return struct.pack(f">BBBB{len(sizes)}I", 0, 0, kind, len(sizes), *sizes) + data


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_idx_file_is_read_with_gzip_or_without(tmp_path, pack):
    path = tmp_path / "file"
    path.write_bytes(pack(idx_bytes(3, 2, 4)))
    assert torch.equal(idx.read(path, dimensions=3), torch.arange(24, dtype=torch.uint8).reshape(3, 2, 4))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "expected it to begin with 00000803, got nothing"),
        (b"\x00\x00", "begin with 00000803, got 0000"),
        (idx_bytes(3, 2, 4, kind=9), "got 00000903"),
        (idx_bytes(3, 2), "got 00000802"),
        (idx_bytes(3, 2, 4)[:9], "truncated within its header"),
        (idx_bytes(3, 2, 4)[:-1], "truncated: its header says 3 × 2 × 4 = 24 bytes of data, and there are 23"),
        (idx_bytes(3, 2, 4) + b"x", "goes on after the 24 bytes"),
        (idx_bytes(2**31, 2**31, 2**31, content=b"1234"), "truncated"),
        (idx_bytes(0, 2, 4), "one sample or more"),
        (gzip.compress(idx_bytes(3, 2, 4))[:-9], "damaged gzip"),
        (gzip.compress(idx_bytes(3, 2, 4))[:-8] + b"????" + gzip.compress(idx_bytes(3, 2, 4))[-4:], "damaged gzip"),
        (gzip.compress(idx_bytes(3, 2, 4) + b"x"), "goes on after"),
        (gzip.compress(idx_bytes(2**31, 2**31, 2**31, content=b"1234")), "truncated"),
    ],
)
def test_a_broken_idx_file_is_refused_by_name(tmp_path, content, told):
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(DataError, match="train-images-idx3-ubyte") as caught:
        idx.read(path, dimensions=3)
    assert told in str(caught.value)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*nothing: No such file"):
        idx.read(tmp_path / "nothing", dimensions=3)
    with pytest.raises(DataError, match=r"no train-images-idx3-ubyte.gz or train-images-idx3-ubyte in .*--data-dir"):
        load("mnist", tmp_path)
    with pytest.raises(DataError, match=r"no CIFAR-10 in .*data_batch_1.bin is missing"):
        load("cifar10", tmp_path)
    with pytest.raises(ConfigError, match="one of digits, mnist, cifar10; got 'imagenet'"):
        load("imagenet", tmp_path)


def test_mnist_images_of_another_size_are_refused(tmp_path):
    for name, content in {
        "train-images-idx3-ubyte": idx_bytes(2, 8, 8),
        "train-labels-idx1-ubyte": idx_bytes(2),
        "t10k-images-idx3-ubyte": idx_bytes(2, 28, 28),
        "t10k-labels-idx1-ubyte": idx_bytes(2),
    }.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="must hold images of 28 × 28; got 8 × 8"):
        load("mnist", tmp_path)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx_bytes(3, 28, 28))
    with pytest.raises(DataError, match="one label for each sample"):
        load("mnist", tmp_path)


def test_the_data_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPUNGE_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(DataError, match="elsewhere"):
        load("mnist")


def test_real_mnist(real):
    mnist = load("mnist", real)
    assert (mnist.inputs.shape, mnist.test_inputs.shape) == ((60000, 1, 28, 28), (10000, 1, 28, 28))
    assert mnist.labels[:8].tolist() == [5, 0, 4, 1, 9, 2, 1, 3]
    assert mnist.labels.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    pixels = mnist.inputs.double()
    assert pixels.mean().item() == pytest.approx(mnist.mean[0], rel=1e-3)
    assert pixels.std().item() == pytest.approx(mnist.std[0], rel=1e-3)


def test_real_cifar10_in_both_versions(real, tmp_path):
    binary = load("cifar10", real)
    assert (binary.inputs.shape, binary.test_inputs.shape) == ((50000, 3, 32, 32), (10000, 3, 32, 32))
    assert binary.labels.bincount().tolist() == [5000] * 10
    assert binary.labels[:5].tolist() == [6, 9, 9, 4, 1]
    assert binary.test_labels[:5].tolist() == [3, 8, 8, 0, 6]
    channels = binary.inputs[::50].double()
    assert channels.mean((0, 2, 3)).tolist() == pytest.approx(binary.mean, rel=0.05)
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    images = torch.cat([binary.inputs, binary.test_inputs]).reshape(6, 10000, 3072)
    labels = torch.cat([binary.labels, binary.test_labels]).reshape(6, 10000)
    for i, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        (folder / name).write_bytes(batch(images[i], labels[i].tolist()))
    assert load("cifar10", tmp_path).sha256 == binary.sha256


def test_the_published_hashes_are_those_of_the_real_files(real):
    for member, (size, sha256) in cifar10.MEMBERS.items():
        content = (real / member).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (size, sha256)


def test_broken_cifar_files_are_refused(tmp_path):
    record = bytes([3]) + bytes(3072)
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(record * 9999)
    with pytest.raises(DataError, match=r"data_batch_1.bin must have 30730000 bytes .*; got 30726927"):
        cifar10.read_binary(path)
    path.write_bytes(record * 7 + bytes([10]) + bytes(3072) + record * 9992)
    with pytest.raises(DataError, match="record 7 has label 10, expected 0 … 9"):
        cifar10.read_binary(path)
    short = torch.zeros(9999, 3072, dtype=torch.uint8)
    path.write_bytes(batch(short, [0] * 10000))
    with pytest.raises(DataError, match="10000 × 3072 bytes under 'data'; got 9999 × 3072"):
        cifar10.read_python(path)
    path.write_bytes(batch(torch.zeros(10000, 3072, dtype=torch.uint8), [0] * 9999))
    with pytest.raises(DataError, match="list of 10000 whole numbers under 'labels'; got a list of 9999"):
        cifar10.read_python(path)


def test_digits_need_no_files():
    pytest.importorskip("sklearn")
    digits = load("digits")
    assert (len(digits), len(digits.test_labels), digits.inputs.dtype) == (1438, 359, torch.uint8)
    assert int(digits.inputs.max()) == 16
    assert digits.labels.bincount().min() > 120
    assert digits.inputs.double().mean().item() == pytest.approx(digits.mean[0], rel=0.01)


def test_a_dataset_checks_itself(small):
    def made(**changes):
        values = {f: getattr(small, f) for f in ("inputs", "labels", "test_inputs", "test_labels", "classes")}
        return Dataset("mine", **{**values, **changes})

    assert made().sha256 == small.sha256
    for changes, told in [
        ({"labels": small.labels[:-1]}, "one label for each sample"),
        ({"inputs": small.inputs[:0], "labels": small.labels[:0]}, "one sample or more"),
        ({"labels": small.labels.int()}, "must be int64"),
        ({"labels": small.labels + 1}, "0 … 9; got torch.int64 from 1 to 10"),
        ({"test_inputs": small.test_inputs[..., :7]}, "differ in shape or type"),
        ({"inputs": small.inputs.float() / 0}, "NaN or infinity"),
        ({"groups": torch.zeros(3)}, "one group for each of the 40"),
        ({"std": (0.0,)}, "std must be positive"),
    ]:
        with pytest.raises(DataError, match="mine") as caught:
            made(**changes)
        assert told in str(caught.value), changes


def test_the_hash_sees_every_change(small):
    other = small.inputs.clone()
    other[0, 0, 0, 0] ^= 1
    from dataclasses import replace

    assert replace(small, inputs=other).sha256 != small.sha256
    assert replace(small, labels=small.labels.flip(0)).sha256 != small.sha256
    assert replace(small, name="other").sha256 == small.sha256
    assert small.to("cpu").sha256 == small.sha256
