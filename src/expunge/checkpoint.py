"""A run's state on disk, in one file that is replaced whole: a kill at any moment leaves the last complete one.

It may hold weights that nobody else should see, so only its owner may read it. Tensors and the rest (as JSON) share one
safetensors file, so they cannot disagree about which step was taken; never pickle.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from . import weights
from .errors import ConfigError, DataError

_TENSOR = "tensor:"


class Checkpoint:
    """Where, how often (in seconds), and of which run. A `path` of None keeps nothing."""

    def __init__(self, path: str | Path | None, *, every: float, fingerprint: str) -> None:
        self._path = None if path is None else Path(path)
        self._every, self._fingerprint, self._last = every, fingerprint, time.monotonic()
        if self._path is not None:
            refuse_place(self._path)

    def load(self) -> dict[str, Any] | None:
        """The state of an interrupted run; none where there is nothing to resume."""
        if self._path is None or not self._path.exists():
            return None
        try:
            with safe_open(self._path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
                state = json.loads((file.metadata() or {})["state"])
            whole, found = state["sha256"] == _sha256(tensors), state["fingerprint"]
            unpacked = unpack(state["state"], tensors)
        except (SafetensorError, LookupError, TypeError, ValueError, OSError) as error:
            raise DataError(
                f"{self._path} is no checkpoint of a run ({error}). Delete it, or name another path."
            ) from error
        if not whole:
            raise DataError(f"{self._path} was damaged: its content is not what was written. Delete it to begin again.")
        if found != self._fingerprint:
            raise other_run(self._path)
        return unpacked

    def save(self, state: Callable[[], dict[str, Any]], *, now: bool = False) -> None:
        """Write the state, if enough time has passed since the last."""
        if self._path is None or not (now or time.monotonic() - self._last >= self._every):
            return
        tensors: dict[str, Tensor] = {}
        packed = pack(state(), tensors)
        text = json.dumps({"fingerprint": self._fingerprint, "sha256": _sha256(tensors), "state": packed})
        with weights.Atomic(self._path, 0o600) as file:
            file.write(save(tensors, metadata={"state": text}))
        self._last = time.monotonic()

    def delete(self) -> None:
        """The run is over: its weights go, and what a kill may have left half written."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path.with_name(f".{self._path.name}.partial").unlink(missing_ok=True)


def refuse_place(path: Path) -> None:
    """Where no checkpoint can be written."""
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise ConfigError(f"checkpoint {path}: its folder does not exist or cannot be written. Make it first.")


def other_run(path: Path) -> ConfigError:
    """What is said of a checkpoint with another fingerprint."""
    return ConfigError(
        f"{path} is the checkpoint of another run (other data, weights, settings or seed). Delete it, or name another path."
    )


def _copied(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True).contiguous()


def pack(value: Any, tensors: dict[str, Tensor], *, keep: Callable[[Tensor], Tensor] = _copied) -> Any:
    """Plain JSON values, with every tensor put aside under a number."""
    if isinstance(value, Tensor):
        name = f"{_TENSOR}{len(tensors)}"
        tensors[name] = keep(value)
        return name
    if isinstance(value, dict):
        return {"dict": [[pack(k, tensors, keep=keep), pack(v, tensors, keep=keep)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list": [pack(item, tensors, keep=keep) for item in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ConfigError(f"the optimiser keeps a {type(value).__name__}, which a checkpoint cannot hold. Run without one.")


def unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """What `pack` was given, with lists for tuples."""
    if isinstance(value, str) and value.startswith(_TENSOR):
        return tensors[value].clone()  # aligned as torch aligns: a dot product may depend on it, bit for bit
    if isinstance(value, dict) and "dict" in value:
        return {unpack(k, tensors): unpack(v, tensors) for k, v in value["dict"]}
    if isinstance(value, dict):
        return [unpack(item, tensors) for item in value["list"]]
    return value


def _sha256(tensors: dict[str, Tensor]) -> str:
    hashing = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        hashing.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        hashing.update(weights.raw(tensor))
    return hashing.hexdigest()
