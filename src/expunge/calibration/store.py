"""Finished work on disk: a file per pair and base run, written whole or not at all: none is lost or repeated."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from .. import weights
from ..errors import ConfigError, DataError


class Store:
    """A folder that belongs to one calibration, told by its description. More pairs of the same may be added."""

    def __init__(self, folder: str | Path, description: dict[str, Any]) -> None:
        self.folder = Path(folder).absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot make the folder {self.folder}: {error.strerror or error}.") from error
        text = json.dumps(description, sort_keys=True, indent=1)
        place = self.folder / "calibration.json"
        if place.exists() and place.read_text(encoding="utf-8") != text:
            raise _other(self.folder)
        _write(place, text)

    def pair(self, index: int, seed: int, forget_sha256: str) -> dict[str, Any] | None:
        """The result of a finished pair."""
        found = _read(self.folder / f"pair-{index:04}.json")
        if found is not None and (found["seed"], found["forget_sha256"]) != (seed, forget_sha256):
            raise _other(self.folder)
        return found

    def keep_pair(self, index: int, result: dict[str, Any]) -> None:
        """A pair is finished."""
        _write(self.folder / f"pair-{index:04}.json", json.dumps(result, allow_nan=False))

    def run(self, seed: int) -> dict[str, Any] | None:
        """The snapshots of a finished base run, or why it failed."""
        return _read(self.folder / f"base-{seed}.json")

    def keep_run(self, seed: int, snapshots: list[dict[str, Any]], failed: str | None) -> None:
        """A base run is finished; its weights were kept one by one."""
        _write(self.folder / f"base-{seed}.json", json.dumps({"snapshots": snapshots, "failed": failed}))

    def keep_weights(self, seed: int, place: int, state: dict[str, Tensor]) -> None:
        """One snapshot of a base run: weights that saw everything, for their owner's eyes only."""
        weights.save(state, self._weights(seed, place), mode=0o600)

    def weights(self, seed: int, place: int) -> dict[str, Tensor]:
        """As `keep_weights` wrote them; −1 is the last."""
        if place < 0:
            place += len((self.run(seed) or {"snapshots": []})["snapshots"])
        return weights.load(self._weights(seed, place))

    def _weights(self, seed: int, place: int) -> Path:
        return self.folder / f"base-{seed}-{place:04}.safetensors"


def _other(folder: Path) -> ConfigError:
    return ConfigError(
        f"{folder} holds another calibration (other data, deletion, training or settings). "
        "Name another folder, or delete it."
    )


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
