"""Tensors that an object keeps in its pockets: in containers and plain objects, nested a few levels deep."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

Loose: TypeAlias = "Tensor | np.ndarray[Any, Any]"
DEPTH = 6
_OPAQUE = (str, bytes, int, float, complex, type, FunctionType, MethodType, ModuleType)


def loose_tensors(value: object, depth: int = DEPTH) -> Iterator[Loose]:
    """Every tensor and array in `value`, those of modules in its pockets included."""
    if isinstance(value, (Tensor, np.ndarray)):
        yield value
        return
    if value is None or depth == 0 or isinstance(value, _OPAQUE):
        return
    if isinstance(value, nn.Module):
        yield from (*value.parameters(), *value.buffers())
        return
    if isinstance(value, Mapping):
        inside = list(value.values())
    elif isinstance(value, Collection):
        inside = list(value)
    else:
        inside = list(vars(value).values()) if hasattr(value, "__dict__") else []
    for item in inside:
        yield from loose_tensors(item, depth - 1)


def fingerprint(tensors: Mapping[str, Loose]) -> str:
    """SHA-256 over names, shapes, types and values, of tensors and arrays of any type."""
    hashing = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name]
        array = (
            value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
            if isinstance(value, Tensor)
            else value
        )
        hashing.update(f"{name} {tuple(value.shape)} {value.dtype}".encode() + array.tobytes())
    return hashing.hexdigest()
