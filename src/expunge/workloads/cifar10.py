"""CIFAR-10: 50,000 + 10,000 colour images of 32 × 32 (Krizhevsky). The binary and the python version hold the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import DataError
from . import archive, download, plain_pickle
from .dataset import Dataset
from .folders import HOME, Fetch

_RECORDS, _PIXELS = 10_000, 3 * 32 * 32
_BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
_BINARY, _PYTHON = "cifar-10-batches-bin", "cifar-10-batches-py"
SOURCE = download.Source(
    "cifar-10-binary.tar.gz",
    170052171,
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ("https://www.cs.toronto.edu/~kriz", "https://cave.cs.toronto.edu/kriz"),
)
_SHA256 = (  # of the six .bin files in it
    "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
)
MEMBERS = {
    f"{_BINARY}/{name}.bin": (_RECORDS * (1 + _PIXELS), sha256) for name, sha256 in zip(_BATCHES, _SHA256, strict=True)
}


def load(folder: Path, fetch: Fetch | None = None) -> Dataset:
    """From `folder/cifar-10-batches-bin` or `folder/cifar-10-batches-py` (torchvision's layout), the binary one first."""
    parts = [read(path) for read, path in _files(folder, fetch)]
    images, labels = (torch.cat([part[i] for part in parts[:-1]]) for i in (0, 1))
    return Dataset(
        name="cifar10",
        inputs=images,
        labels=labels,
        test_inputs=parts[-1][0],
        test_labels=parts[-1][1],
        classes=10,
        mean=(0.4914 * 255, 0.4822 * 255, 0.4465 * 255),
        std=(0.2470 * 255, 0.2435 * 255, 0.2616 * 255),
    )


def read_binary(path: Path) -> tuple[Tensor, Tensor]:
    """One .bin file: 10,000 records of a label and 3 × 32 × 32 bytes, channel by channel."""
    expected = _RECORDS * (1 + _PIXELS)
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size == expected else b""
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    if size != expected:
        raise DataError(
            f"{path} must have {expected} bytes ({_RECORDS} records of {1 + _PIXELS}); got {size}. Get it again."
        )
    records = torch.frombuffer(bytearray(content), dtype=torch.uint8).reshape(_RECORDS, 1 + _PIXELS)
    return _checked(path, records[:, 1:], records[:, 0].long())


def read_python(path: Path) -> tuple[Tensor, Tensor]:
    """One batch of the python version. The pickle is read, not executed."""
    batch: dict[Any, Any] = plain_pickle.read(path)
    images, labels = batch.get(b"data"), batch.get(b"labels")
    if not isinstance(images, Tensor) or tuple(images.shape) != (_RECORDS, _PIXELS):
        raise DataError(f"{path} must hold {_RECORDS} × {_PIXELS} bytes under 'data'; got {_shape(images)}.")
    if not isinstance(labels, list) or len(labels) != _RECORDS or not all(type(label) is int for label in labels):
        raise DataError(f"{path} must hold a list of {_RECORDS} whole numbers under 'labels'; got {_shape(labels)}.")
    return _checked(path, images, torch.tensor(labels))


def _files(folder: Path, fetch: Fetch | None) -> list[tuple[Callable[[Path], tuple[Tensor, Tensor]], Path]]:
    binary = [folder / _BINARY / f"{name}.bin" for name in _BATCHES]
    python = [folder / _PYTHON / name for name in _BATCHES]
    for read, paths in ((read_binary, binary), (read_python, python)):
        if all(path.is_file() for path in paths):
            return [(read, path) for path in paths]
    if fetch is not None:
        archive.unpack(fetch(SOURCE, folder), MEMBERS, folder)
        return [(read_binary, path) for path in binary]
    missing = next(path for path in binary if not path.is_file())
    raise DataError(
        f"no CIFAR-10 in {folder}: expected {_BINARY}/*.bin or {_PYTHON}/*, six files each ({missing.name} is missing). "
        f"Name the folder with --data-dir or ${HOME}, or allow a download (--download)."
    )


def _checked(path: Path, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    if not 0 <= int(labels.min()) <= int(labels.max()) <= 9:
        wrong = int(((labels < 0) | (labels > 9)).nonzero()[0])
        raise DataError(f"{path}: record {wrong} has label {int(labels[wrong])}, expected 0 … 9. Get it again.")
    return images.reshape(-1, 3, 32, 32), labels


def _shape(value: object) -> str:
    if isinstance(value, Tensor):
        return " × ".join(map(str, value.shape))
    return f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__
