"""A run's state on disk, in one file that is replaced whole: a kill at any moment leaves the last complete one.

It holds un-noised weights, so only its owner may read it, and it is deleted when the run is over. Tensors and the rest
(as JSON) share one safetensors file, so they cannot disagree about which step was taken; never pickle.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ..errors import ConfigError, DataError
from ..weights import Atomic
from .loose import fingerprint

_TENSOR = "tensor:"


class Checkpoint:
    """Where, how often, and of which run. A `path` of None keeps nothing."""

    def __init__(self, path: str | Path | None, *, every: float, fingerprint: str) -> None:
        self._path = None if path is None else Path(path)
        self._every, self._fingerprint, self._last = every, fingerprint, time.monotonic()
        if self._path is not None and not (self._path.parent.is_dir() and os.access(self._path.parent, os.W_OK)):
            raise ConfigError(
                f"checkpoint {self._path}: its folder does not exist or cannot be written. Make it first."
            )

    def load(self) -> dict[str, Any] | None:
        """The state of an interrupted run; none where there is nothing to resume."""
        if self._path is None or not self._path.exists():
            return None
        try:
            with safe_open(self._path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
                state = json.loads((file.metadata() or {})["state"])
            whole, found = state["sha256"] == fingerprint(tensors), state["fingerprint"]
            unpacked = _unpack(state["state"], tensors)
        except (SafetensorError, LookupError, TypeError, ValueError, OSError) as error:
            raise DataError(
                f"{self._path} is no checkpoint of a run ({error}). Delete it, or name another path."
            ) from error
        if not whole:
            raise DataError(f"{self._path} was damaged: its content is not what was written. Delete it to begin again.")
        if found != self._fingerprint:
            raise ConfigError(
                f"{self._path} is the checkpoint of another run (other weights, plan, seed or recipe). "
                "Delete it, or name another path."
            )
        return unpacked

    def save(self, state: Callable[[], dict[str, Any]], *, now: bool = False) -> None:
        """Write the state, if enough time has passed since the last."""
        if self._path is None or not (now or time.monotonic() - self._last >= self._every):
            return
        tensors: dict[str, Tensor] = {}
        packed = _pack(state(), tensors)
        text = json.dumps({"fingerprint": self._fingerprint, "sha256": fingerprint(tensors), "state": packed})
        with Atomic(self._path, 0o600) as file:
            file.write(save(tensors, metadata={"state": text}))
        self._last = time.monotonic()

    def delete(self) -> None:
        """The run is over: its un-noised weights go, and what a kill may have left half written."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path.with_name(f".{self._path.name}.partial").unlink(missing_ok=True)


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Plain JSON values, with every tensor put aside under a number."""
    if isinstance(value, Tensor):
        name = f"{_TENSOR}{len(tensors)}"
        tensors[name] = value.detach().to("cpu", copy=True).contiguous()
        return name
    if isinstance(value, dict):
        return {"dict": [[_pack(k, tensors), _pack(v, tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list": [_pack(item, tensors) for item in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ConfigError(f"the optimiser keeps a {type(value).__name__}, which a checkpoint cannot hold. Run without one.")


def _unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, str) and value.startswith(_TENSOR):
        return tensors[value]
    if isinstance(value, dict) and "dict" in value:
        return {_unpack(k, tensors): _unpack(v, tensors) for k, v in value["dict"]}
    if isinstance(value, dict):
        return [_unpack(item, tensors) for item in value["list"]]
    return value


def random_state() -> dict[str, Tensor]:
    """The state of torch's random numbers on every device."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda:{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def restore_random_state(states: dict[str, Tensor]) -> None:
    """As `random_state` gave it."""
    for device, state in states.items():
        if device == "cpu":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, device)
