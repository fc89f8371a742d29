"""The data sets by name."""

from collections.abc import Callable
from pathlib import Path

from ..errors import ConfigError
from . import cifar10, digits, mnist
from .dataset import Dataset
from .download import Meter, Source, fetch, silent
from .folders import Fetch, data_folder

DATASETS: dict[str, Callable[[Path, Fetch | None], Dataset]] = {
    "digits": digits.load,
    "mnist": mnist.load,
    "cifar10": cifar10.load,
}


def load(name: str, data_dir: str | Path | None = None, *, download: bool = False, progress: Meter = silent) -> Dataset:
    """A data set from `data_dir` (default: $EXPUNGE_DATA, else ~/.cache/expunge).

    What is not there is downloaded if `download` says so, with its size and SHA-256 checked.
    """
    if name not in DATASETS:
        raise ConfigError(f"the data set must be one of {', '.join(DATASETS)}; got {name!r}.")

    def from_mirror(source: Source, folder: Path) -> Path:
        return fetch(source, folder, progress=progress)

    return DATASETS[name](data_folder(data_dir), from_mirror if download else None)
