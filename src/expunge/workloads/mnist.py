"""MNIST: 60,000 + 10,000 images of 28 × 28 grey pixels (LeCun, Cortes and Burges)."""

from pathlib import Path

import torch
from torch import Tensor

from ..errors import DataError
from . import download, idx
from .dataset import Dataset
from .folders import Fetch, find

_MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
_IMAGES, _LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
_TEST_IMAGES, _TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
SOURCES = tuple(
    download.Source(f"{stem}.gz", size, sha256, _MIRRORS)
    for stem, size, sha256 in (
        (_IMAGES, 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        (_LABELS, 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        (_TEST_IMAGES, 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        (_TEST_LABELS, 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    )
)


def load(folder: Path, fetch: Fetch | None = None) -> Dataset:
    """From the four IDX files in `folder/MNIST/raw` (torchvision's layout) or in `folder` itself."""
    files = {source.file.removesuffix(".gz"): _file(folder, source, fetch) for source in SOURCES}
    return Dataset(
        name="mnist",
        inputs=_images(files[_IMAGES]),
        labels=idx.read(files[_LABELS], dimensions=1).long(),
        test_inputs=_images(files[_TEST_IMAGES]),
        test_labels=idx.read(files[_TEST_LABELS], dimensions=1).long(),
        classes=10,
        mean=(0.1307 * 255,),
        std=(0.3081 * 255,),
    )


def _file(folder: Path, source: download.Source, fetch: Fetch | None) -> Path:
    places = [folder / "MNIST" / "raw", folder]
    return find(places, (source.file, source.file.removesuffix(".gz")), lambda: fetch and fetch(source, places[0]))


def _images(path: Path) -> Tensor:
    images = idx.read(path, dimensions=3)
    if images.shape[1:] != torch.Size((28, 28)):
        raise DataError(f"{path} must hold images of 28 × 28; got {images.shape[1]} × {images.shape[2]}.")
    return images.unsqueeze(1)
