"""Reads the pickles of CIFAR-10's python version without running them.

A pickle is a program: `pickle.load` does whatever the file says. These files use only a small part of that language: plain
values, and one NumPy array of bytes. This module steps through the opcodes (`pickletools.genops` decodes them and runs
nothing) and knows that part alone. Any other opcode, and any name but the three that make up an array, is refused.
"""

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import DataError

_RECONSTRUCT, _NDARRAY, _DTYPE = "numpy.core.multiarray _reconstruct", "numpy ndarray", "numpy dtype"
_MARK = object()
_BYTES_STATE = (3, b"|", None, None, None, -1, -1, 0)  # of numpy.dtype("u1"): no byte order, no fields, no metadata


class _Refused(Exception):  # noqa: N818 (it never leaves this file)
    pass


@dataclass(frozen=True)
class _Name:
    path: str


@dataclass(eq=False)
class _Array:
    value: Tensor | None = None


@dataclass(eq=False)
class _ByteType:
    complete: bool = False


def read(path: Path) -> Any:
    """The value in a pickle of protocol 2 or less: dicts, lists, ints, byte strings, and uint8 arrays as tensors."""
    machine, end = _Machine(), 0
    try:
        content = path.read_bytes()  # not the open file: a damaged length would make it allocate as much
        for opcode, argument, position in pickletools.genops(content):
            _step(machine, opcode.name, argument, position or 0)
            end = (position or 0) + 1
        return _finished(machine, complete=end == len(content))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    except (_Refused, ValueError, IndexError, KeyError, TypeError, OverflowError, RuntimeError, Warning) as error:
        raise DataError(
            f"{path} is not a batch of CIFAR-10's python version ({error}). It was not executed. Get the file again, or use "
            "the binary version."
        ) from error


class _Machine:
    """The stack, marks and memory of a pickle, without its hands."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise _Refused("a value is missing")
        return self.stack.pop()

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise _Refused(f"a {kind.__name__} is missing")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        if _MARK not in self.stack:
            raise _Refused("a mark is missing")
        start = len(self.stack) - 1 - self.stack[::-1].index(_MARK)
        items = self.stack[start + 1 :]
        del self.stack[start:]
        return items

    def last(self, count: int) -> tuple[Any, ...]:
        return tuple(reversed([self.pop() for _ in range(count)]))


def _step(machine: _Machine, name: str, argument: Any, position: int) -> None:
    if name in _CONSTANTS:
        machine.push(_CONSTANTS[name])
    elif name in _ACTIONS:
        _ACTIONS[name](machine, argument)
    else:
        raise _Refused(f"opcode {name} at byte {position} has no place in one")


def _protocol(_: _Machine, version: int) -> None:
    if version > 2:
        raise _Refused(f"pickle protocol {version}, expected 2 or less")


def _global(machine: _Machine, path: str) -> None:
    if path not in (_RECONSTRUCT, _NDARRAY, _DTYPE):
        raise _Refused(f"it asks for {path.replace(' ', '.')!r}")
    machine.push(_Name(path))


def _reduce(machine: _Machine, _: object) -> None:
    function, arguments = machine.last(2)
    if (function, arguments) == (_Name(_RECONSTRUCT), (_Name(_NDARRAY), (0,), b"b")):
        machine.push(_Array())
    elif (function, arguments) == (_Name(_DTYPE), (b"u1", 0, 1)):
        machine.push(_ByteType())
    else:
        raise _Refused("it calls something that is not an array of unsigned bytes")


def _build(machine: _Machine, _: object) -> None:
    state = machine.pop()
    target = machine.top(object)
    if isinstance(target, _ByteType) and state == _BYTES_STATE:
        target.complete = True
    elif isinstance(target, _Array) and isinstance(state, tuple) and len(state) == 5:
        target.value = _tensor(*state)
    else:
        raise _Refused("it sets the state of something that is not an array of unsigned bytes")


def _tensor(version: Any, shape: Any, kind: Any, fortran: Any, content: Any) -> Tensor:
    sizes = isinstance(shape, tuple) and all(type(size) is int and size > 0 for size in shape)
    if not (sizes and version == 1 and isinstance(kind, _ByteType) and kind.complete and fortran is False):
        raise _Refused("its array is not a plain one of unsigned bytes, row by row")
    if not isinstance(content, bytes):
        raise _Refused("its array has no bytes")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).reshape(shape)


def _set_items(machine: _Machine, items: list[Any]) -> None:
    target = machine.top(dict)
    if len(items) % 2:
        raise _Refused("a dict has a key without a value")
    target.update(zip(items[::2], items[1::2], strict=True))


def _text(machine: _Machine, argument: str) -> None:
    machine.push(argument.encode("latin-1"))  # what Python 2 called a string


def _put(machine: _Machine, number: int) -> None:
    machine.memory[number] = machine.top(object)


_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": (), "MARK": _MARK}
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": _protocol,
    "GLOBAL": _global,
    "REDUCE": _reduce,
    "BUILD": _build,
    "STOP": lambda machine, _: None,
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    **dict.fromkeys(("BININT", "BININT1", "BININT2"), lambda machine, number: machine.push(number)),
    **dict.fromkeys(("BINSTRING", "SHORT_BINSTRING"), _text),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), lambda machine, number: machine.push(machine.memory[number])),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.push(machine.last(1)),
    "TUPLE2": lambda machine, _: machine.push(machine.last(2)),
    "TUPLE3": lambda machine, _: machine.push(machine.last(3)),
    "APPENDS": lambda machine, _: _extend(machine, machine.since_mark()),
    "APPEND": lambda machine, _: _extend(machine, [machine.pop()]),
    "SETITEMS": lambda machine, _: _set_items(machine, machine.since_mark()),
    "SETITEM": lambda machine, _: _set_items(machine, list(machine.last(2))),
}


def _extend(machine: _Machine, items: list[Any]) -> None:
    machine.top(list).extend(items)


def _finished(machine: _Machine, *, complete: bool) -> Any:
    """Arrays as tensors in the one dict that the file must hold."""
    if not complete or len(machine.stack) != 1:
        raise _Refused("it does not end after one value")
    value = machine.top(dict)
    return {key: item.value if isinstance(item, _Array) else item for key, item in value.items()}
