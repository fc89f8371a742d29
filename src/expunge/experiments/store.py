"""Finished work of one comparison in a folder: weights, outputs, and a file for each cell, written whole or not at all."""

import json
from pathlib import Path
from typing import Any

from torch import nn

from .. import weights
from ..audit import Outputs, load
from ..errors import ConfigError, DataError


class Store:
    """A folder that belongs to one comparison, told by its data, training and deletion."""

    def __init__(self, folder: str | Path, description: dict[str, Any]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot make the folder {folder}: {error.strerror or error}. Name another.") from error
        place, text = self.folder / "comparison.json", json.dumps(description, sort_keys=True, indent=1)
        if place.exists() and place.read_text(encoding="utf-8") != text:
            raise ConfigError(
                f"{self.folder} holds another comparison (other data, training or deletion). Name another folder, or "
                "delete it."
            )
        _write(place, text)

    def read(self, name: str) -> dict[str, Any] | None:
        """What was kept under this name, if it is there."""
        place = self.folder / f"{name}.json"
        if not place.exists():
            return None
        try:
            return json.loads(place.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{place} is damaged ({error}). Delete it; its run will be repeated.") from error

    def keep(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """Keep plain values; gives them back."""
        _write(self.folder / f"{name}.json", json.dumps(values, allow_nan=False, indent=1))
        return values

    def keep_weights(self, name: str, model: nn.Module) -> None:
        """They may be those of before the deletion: only their owner reads them."""
        weights.save(model.state_dict(), self.folder / f"{name}.safetensors", mode=0o600)

    def keep_model(self, name: str, model: nn.Module, outputs: Outputs) -> None:
        """Weights, and what they answer."""
        self.keep_weights(name, model)
        outputs.save(self.folder / f"{name}.outputs.safetensors")

    def fill(self, name: str, model: nn.Module) -> nn.Module:
        """The kept weights, in a model of theirs."""
        model.load_state_dict(weights.load(self.folder / f"{name}.safetensors"))
        return model

    def outputs(self, name: str) -> Outputs:
        """What a kept model answered."""
        return load(self.folder / f"{name}.outputs.safetensors")


def _write(path: Path, text: str) -> None:
    with weights.Atomic(path, 0o644) as file:
        file.write(text.encode())
