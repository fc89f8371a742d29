"""Where data lives, and what is said when it is not there."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import DataError
from .download import Source

HOME = "EXPUNGE_DATA"
Fetch = Callable[[Source, Path], Path]


def data_folder(named: str | Path | None = None) -> Path:
    """The folder that was named, else $EXPUNGE_DATA, else ~/.cache/expunge."""
    return Path(named or os.environ.get(HOME) or Path.home() / ".cache" / "expunge").expanduser()


def find(places: Sequence[Path], names: Sequence[str], otherwise: Callable[[], Path | None]) -> Path:
    """The first of these files that exists, or what `otherwise` gets."""
    for place in places:
        for name in names:
            if (place / name).is_file():
                return place / name
    return otherwise() or _missing(places, names)


def _missing(places: Sequence[Path], names: Sequence[str]) -> Path:
    raise DataError(
        f"no {' or '.join(names)} in {' or '.join(map(str, places))}. Name the folder with --data-dir or ${HOME}, or "
        "allow a download (--download)."
    )
