"""Tensors that an object keeps in its pockets: in containers, plain objects, classes and functions, however deep.

An object keeps what Python keeps alive for it. Of a function's globals only those count that its code names, and of a
module only what is named of it, or everything would keep everything. The code of installed packages is not looked into: it
never saw the data. What somebody put into their containers, objects and closures is.
"""

import gc
import hashlib
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from ..weights import local

Loose: TypeAlias = "Tensor | np.ndarray[Any, Any]"
_OPAQUE = (str, bytes, int, float, complex, ModuleType, CodeType)
_LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_OURS = __name__.partition(".")[0]


def loose_tensors(value: object, own: Collection[int] = ()) -> Iterator[Loose]:
    """Every tensor and array that `value` keeps, save the objects in `own` (by id); each object is looked into once."""
    seen: dict[int, object] = {}  # the objects too: the id of one that is gone is given to another
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if item is None or isinstance(item, _OPAQUE) or id(item) in seen or id(item) in own or _of_fsdp(item):
            continue
        seen[id(item)] = item
        if isinstance(item, (Tensor, np.ndarray)):
            yield item
        else:
            waiting.extend(_kept(item))


def _of_fsdp(item: object) -> bool:
    """What `fully_shard` keeps in a module: views of the module's own parameters, and room to gather them."""
    return type(item).__module__.startswith("torch.distributed.fsdp.")


def own_ids(model: nn.Module) -> set[int]:
    """The objects that make up a model, its classes among them: each has a fate of its own."""
    kinds = {kind for module in model.modules() for kind in type(module).__mro__}
    return {id(item) for item in (*model.modules(), *kinds, *model.parameters(), *model.buffers())}


def of_class(kind: type) -> dict[str, object]:
    """A class's attributes and functions, save those that only make an object: it is made already."""
    return {key: value for key, value in vars(kind).items() if key not in ("__init__", "__new__")}


def _kept(item: object) -> Collection[object]:
    if isinstance(item, type):
        kinds = [kind for kind in item.__mro__ if not installed(kind.__module__)]
        return [value for kind in kinds for value in of_class(kind).values()]
    if isinstance(item, FunctionType):
        named = [] if installed(str(item.__globals__.get("__name__"))) else _named(item)
        return [*(item.__closure__ or ()), item.__defaults__, item.__kwdefaults__, vars(item), *named]
    return gc.get_referents(item)


def _named(function: FunctionType) -> Iterator[object]:
    """The globals that a function's code names, and what it names of modules that are not installed."""
    names = _names(function.__code__)
    spaces: list[Mapping[str, object]] = [function.__globals__]
    visited: set[int] = set()
    while spaces:
        space = spaces.pop()
        for name in names & space.keys():
            value = space[name]
            if not isinstance(value, ModuleType):
                yield value
            elif id(value) not in visited and not installed(value.__name__):
                visited.add(id(value))
                spaces.append(vars(value))


def _names(code: CodeType) -> set[str]:
    """Those of functions and comprehensions inside it too."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


@cache
def installed(name: str) -> bool:
    """Whether a module came with Python, with a package, or with us."""
    first, file = name.partition(".")[0], getattr(sys.modules.get(name), "__file__", None)
    if first == _OURS or file is None:
        return first == _OURS or first in sys.stdlib_module_names
    return any(Path(file).resolve().is_relative_to(place) for place in _LIBRARIES)


def fingerprint(tensors: Mapping[str, Loose]) -> str:
    """SHA-256 over names, shapes, types and values, of tensors and arrays of any type."""
    hashing = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name]
        array = (
            local(value.detach()).cpu().contiguous().flatten().view(torch.uint8).numpy()
            if isinstance(value, Tensor)
            else value
        )
        hashing.update(f"{name} {tuple(value.shape)} {value.dtype}".encode() + array.tobytes())
    return hashing.hexdigest()
