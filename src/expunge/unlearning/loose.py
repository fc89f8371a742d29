"""Tensors that an object keeps in its pockets: in containers, plain objects and functions, nested a few levels deep."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

Loose: TypeAlias = "Tensor | np.ndarray[Any, Any]"
DEPTH = 6
_OPAQUE = (str, bytes, int, float, complex, type, ModuleType)


def loose_tensors(value: object, depth: int = DEPTH, seen: set[int] | None = None) -> Iterator[Loose]:
    """Every tensor and array in `value`, those of modules in its pockets included; each object is looked into once."""
    seen = set() if seen is None else seen
    if value is None or depth == 0 or isinstance(value, _OPAQUE) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (Tensor, np.ndarray)):
        yield value
    elif isinstance(value, nn.Module):
        yield from (*value.parameters(), *value.buffers())
    else:
        for item in list(_inside(value)):
            yield from loose_tensors(item, depth - 1, seen)


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, FunctionType):
        yield from _carried(value)
    elif isinstance(value, MethodType):
        yield value.__self__
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, Collection):
        yield from value
    if hasattr(value, "__dict__"):
        yield from vars(value).values()


def _carried(function: FunctionType) -> Iterator[object]:
    """What a function brings along: its closure, its defaults, and the globals of its own module that it names."""
    yield from map(_content, function.__closure__ or ())
    yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        neighbour = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if neighbour or isinstance(value, (Tensor, np.ndarray, nn.Module, Mapping, list, tuple)):
            yield value


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return None


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
