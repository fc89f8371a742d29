"""A training run on disk, in one safetensors file that is replaced whole: a kill at any moment leaves the last complete one.

Tensors and the rest (as JSON) share the file, so they cannot disagree about the step. Never pickle.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ..errors import ConfigError, DataError
from ..weights import Atomic

_TENSOR = "tensor:"


class Checkpoint:
    """Where, how often (seconds), and of which run. A `path` of None keeps nothing."""

    def __init__(self, path: str | Path | None, *, every: float, fingerprint: str) -> None:
        self._path = None if path is None else Path(path)
        self._every, self._fingerprint, self._last = every, fingerprint, time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """The state of an interrupted run; none where there is nothing to resume."""
        if self._path is None or not self._path.exists():
            return None
        try:
            with safe_open(self._path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
                state = json.loads((file.metadata() or {})["training"])
        except (SafetensorError, KeyError, ValueError, OSError) as error:
            raise DataError(
                f"{self._path} is no checkpoint of a training run ({error}). Delete it, or name another path."
            ) from error
        if state["fingerprint"] != self._fingerprint:
            raise ConfigError(
                f"{self._path} is the checkpoint of another run (other data, recipe, seed or initial weights). Delete it, "
                "or name another path."
            )
        return unpack(state["state"], tensors)

    def save(self, state: Callable[[], dict[str, Any]], *, now: bool = False) -> None:
        """Write the state, if enough time has passed since the last."""
        if self._path is None or not (now or time.monotonic() - self._last >= self._every):
            return
        tensors: dict[str, Tensor] = {}
        text = json.dumps({"fingerprint": self._fingerprint, "state": pack(state(), tensors)})
        with Atomic(self._path, 0o600) as file:
            file.write(save(tensors, metadata={"training": text}))
        self._last = time.monotonic()


def pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Plain JSON values, with every tensor put aside under a number."""
    if isinstance(value, Tensor):
        name = f"{_TENSOR}{len(tensors)}"
        tensors[name] = value.detach().to("cpu", copy=True).contiguous()
        return name
    if isinstance(value, dict):
        return {"dict": [[pack(k, tensors), pack(v, tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list": [pack(item, tensors) for item in value]}
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
