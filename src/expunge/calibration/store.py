"""Finished work on disk: a file per pair and base run, written whole or not at all: none is lost or repeated."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from .. import weights
from ..errors import ConfigError, DataError


class Store:
    """A folder that belongs to one calibration, told by its description."""

    def __init__(self, folder: str | Path, description: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(description, sort_keys=True, indent=1)
        place = self.folder / "calibration.json"
        if place.exists() and place.read_text(encoding="utf-8") != text:
            raise ConfigError(
                f"{self.folder} holds another calibration (other data, deletion, training or settings). "
                "Name another folder, or delete it."
            )
        _write(place, text)

    def pair(self, index: int) -> dict[str, Any] | None:
        """The result of a finished pair."""
        return _read(self.folder / f"pair-{index:04}.json")

    def keep_pair(self, index: int, result: dict[str, Any]) -> None:
        """A pair is finished."""
        _write(self.folder / f"pair-{index:04}.json", json.dumps(result, allow_nan=False))

    def run(self, seed: int) -> list[dict[str, Any]] | None:
        """The snapshots of a finished base run."""
        entry = _read(self.folder / f"base-{seed}.json")
        return None if entry is None else entry["snapshots"]

    def keep_run(self, seed: int, snapshots: list[dict[str, Any]]) -> None:
        """A base run is finished; its weights were kept one by one."""
        _write(self.folder / f"base-{seed}.json", json.dumps({"snapshots": snapshots}))

    def keep_weights(self, seed: int, place: int, state: dict[str, Tensor]) -> None:
        """One snapshot of a base run."""
        weights.save(state, self.folder / f"base-{seed}-{place:04}.safetensors", mode=0o600)

    def weights(self, seed: int, place: int) -> dict[str, Tensor]:
        """As `keep_weights` wrote them."""
        return weights.load(self.folder / f"base-{seed}-{place:04}.safetensors")


def _write(path: Path, text: str) -> None:
    with weights.Atomic(path, 0o644) as file:
        file.write(text.encode())


def _read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged ({error}). Delete it; its run will be repeated.") from error
