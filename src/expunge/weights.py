"""A model's state as bytes: one canonical safetensors layout, to save, to hash, and to compare.

The file that `save` writes has the SHA-256 that `digest` computes, so `sha256sum model.safetensors` can be held against
a certificate. Any reader of safetensors opens it. Wide types come first, then names in order; a tied tensor is written
under each of its names.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from .errors import DataError

_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_PIECE = 2**24


def digest(state: Mapping[str, Any]) -> str:
    """SHA-256 of the state's canonical bytes."""
    hashing = hashlib.sha256()
    for part in _stream(state):
        hashing.update(part)
    return hashing.hexdigest()


def save(state: Mapping[str, Any], path: str | Path, *, mode: int = 0o644) -> str:
    """Write the canonical file, whole or not at all, and return its SHA-256.

    Processes that share a sharded model must all call this; the first one writes.
    """
    if any(map(is_sharded, state.values())) and dist.get_rank() > 0:
        return digest(state)
    hashing = hashlib.sha256()
    with Atomic(Path(path), mode) as file:
        for part in _stream(state):
            hashing.update(part)
            file.write(part)
    return hashing.hexdigest()


def load(path: str | Path) -> dict[str, Tensor]:
    """A state dict from a safetensors or a PyTorch file (`weights_only`: a file is data, never a program)."""
    path = Path(path)
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    except Exception as error:
        raise DataError(
            f"{path} is not a file of weights ({type(error).__name__}). Expected .safetensors, or a state_dict saved with "
            "torch.save; a whole pickled model is not read, because opening one runs its code."
        ) from error
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise DataError(f"{path} holds no state_dict (names and tensors). Save model.state_dict().")
    return state


def put(state: Mapping[str, Tensor], model: Any, otherwise: str) -> Any:
    """The model with this state in it; `otherwise` says first what does not fit what."""
    try:
        _fill(model, state)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise DataError(
            f"{otherwise}: {reason}. Name the factory of the model that these weights belong to."
        ) from error
    return model


def _fill(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    if not any(map(is_sharded, model.parameters())):
        model.load_state_dict(state)
        return
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

    set_model_state_dict(model, dict(state), options=StateDictOptions(full_state_dict=True))


def state_of(model: nn.Module) -> dict[str, Any]:
    """A module's state under its own names, whatever is wrapped around it to train it on several processes."""
    return (model.module if isinstance(model, DistributedDataParallel) else model).state_dict()


def is_sharded(value: object) -> bool:
    """A DTensor: a part of it may be with other processes."""
    return hasattr(value, "placements")


def local(tensor: Tensor) -> Tensor:
    """What this process holds of it: all, unless it is sharded."""
    return getattr(tensor, "to_local", lambda: tensor)()


def _stream(state: Mapping[str, Any]) -> Iterator[bytes]:
    plain = {name: _plain(name, value) for name, value in state.items()}
    names = sorted(plain, key=lambda name: (-plain[name].element_size(), name))  # keeps every tensor aligned
    tensors = {name: plain[name] for name in names}
    header: dict[str, Any] = {}
    offset = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    yield struct.pack("<Q", len(text)) + text
    for tensor in tensors.values():
        if tensor.numel():
            yield from _pieces(tensor)


def _pieces(tensor: Tensor) -> Iterator[bytes]:
    entire = getattr(tensor, "full_tensor", lambda: tensor)()  # one sharded tensor at a time, by all processes
    for piece in entire.detach().contiguous().view(-1).view(torch.uint8).split(_PIECE):
        yield piece.cpu().numpy().tobytes()


def raw(tensor: Tensor) -> bytes:
    """A dense tensor's bytes, in order."""
    return b"".join(_pieces(tensor))


def _plain(name: str, value: object) -> Tensor:
    if not isinstance(value, Tensor) or value.layout != torch.strided or value.dtype not in _NAMES or value.is_meta:
        raise DataError(f"state {name!r} is {type(value).__name__} and cannot be hashed; only dense tensors can.")
    return value


class Atomic:
    """A file that appears under its name only when it is complete and on disk."""

    def __init__(self, path: Path, mode: int) -> None:
        self._path, self._partial, self._mode = path, path.with_name(f".{path.name}.partial"), mode

    def __enter__(self):
        self._partial.unlink(missing_ok=True)  # one that is left, or was put there, would keep its own mode
        descriptor = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._mode)
        self._file = os.fdopen(descriptor, "wb")
        return self._file

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
            self._file.close()
            if kind is None:
                os.replace(self._partial, self._path)
        finally:
            self._file.close()
            self._partial.unlink(missing_ok=True)
