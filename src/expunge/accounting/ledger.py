"""Blocks and steps as JSON, and back. Reading is strict: what is not understood is refused, never ignored.

    {"schema": "expunge.ledger/1",
     "blocks": [{"dimension": 1091139,
                 "steps": [{"step_size": 1e-4, "weight_decay": 100.0, "clip": 2500.0, "sigma": 0.41, "count": 1}]}]}

`count` (default 1) repeats a step; `dimension` may be left out.
"""

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from ..errors import ConfigError, DataError
from .checks import whole
from .mechanism import MOST_STEPS, Block, Step, as_blocks
from .proximity import Proximity

SCHEMA = "expunge.ledger/1"
LARGEST_FILE = 64 * 2**20

_STEP = ("step_size", "weight_decay", "clip", "sigma")


def to_json(blocks: Block | Iterable[Block]) -> str:
    """The ledger as text; runs of equal steps are written once, with their count."""
    return json.dumps({"schema": SCHEMA, "blocks": [block_record(b) for b in as_blocks(blocks)]}, allow_nan=False)


def from_json(text: str | bytes) -> tuple[Block, ...]:
    """The blocks of a ledger's text, or a DataError that says where it is wrong."""
    found = parse(text)
    schema = cast("dict[str, Any]", found).get("schema", SCHEMA) if isinstance(found, dict) else SCHEMA
    if schema != SCHEMA:
        raise DataError(f"schema must be {SCHEMA!r}; got {schema!r:.60}. Name a ledger of this version of Expunge.")
    ledger = read_record(cast("Any", found), "the ledger", required=("schema", "blocks"))
    return read_blocks(ledger["blocks"])


def load(path: str | Path) -> tuple[Block, ...]:
    """The blocks of a ledger file."""
    return from_json(read_text(path))


def read_text(path: str | Path) -> bytes:
    """A small file's bytes, or a DataError: missing, unreadable, or far too large to be what it should be."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # a ValueError where no file can have that name
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"cannot read {str(path)[:200]!r}: {reason}. Check the path.") from error
    if len(content) > LARGEST_FILE:
        raise DataError(f"{path} is larger than {LARGEST_FILE >> 20} MiB, so it is no ledger. Check the path.")
    return content


def parse(text: str | bytes) -> Any:
    """Strict JSON: no NaN or Infinity, no repeated keys, no bottomless nesting."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except DataError:
        raise
    except UnicodeDecodeError as error:
        raise DataError("not valid JSON: this is no text at all. Check the path.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON: {str(error)[:200]}.") from error


def block_record(block: Block) -> dict[str, Any]:
    """One block as plain JSON values."""
    steps: list[dict[str, Any]] = []
    for step, run in groupby(block.steps):
        count = sum(1 for _ in run)
        steps.append({name: getattr(step, name) for name in _STEP} | ({"count": count} if count > 1 else {}))
    return ({} if block.dimension is None else {"dimension": block.dimension}) | {"steps": steps}


def read_blocks(records: object) -> tuple[Block, ...]:
    """Blocks from plain JSON values."""
    room = MOST_STEPS
    blocks: list[Block] = []
    for i, item in enumerate(_list(records, "blocks")):
        record = read_record(item, f"blocks[{i}]", required=("steps",), optional=("dimension",))
        steps: list[Step] = []
        for t, run in enumerate(_list(record["steps"], f"blocks[{i}].steps")):
            steps += _read_steps(run, f"blocks[{i}].steps[{t}]", room - len(steps))
        room -= len(steps)
        with _located(f"blocks[{i}]"):
            blocks.append(Block(tuple(steps), record.get("dimension")))
    return tuple(blocks)


def read_proximity(item: object) -> Proximity:
    """A proximity from plain JSON values."""
    optional = ("assumptions", "entry", "requests", "design", "gaps")
    record = read_record(item, "proximity", required=("gap", "failure", "source"), optional=optional)
    with _located("proximity"):
        return Proximity(**record)


def read_record(
    item: object, where: str, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """`item` as an object with just these fields."""
    if not isinstance(item, dict):
        raise DataError(f"{where} must be an object; got {item!r:.60}.")
    record = cast(dict[str, Any], item)
    if missing := [name for name in required if name not in record]:
        raise DataError(f"{where} lacks {', '.join(missing)}.")
    if unknown := sorted(set(record) - {*required, *optional}):
        raise DataError(
            f"{where} has unknown field {unknown[0]!r:.60}; it may have {', '.join((*required, *optional))}."
        )
    return record


def _read_steps(item: object, where: str, room: int) -> list[Step]:
    record = read_record(item, where, required=_STEP, optional=("count",))
    with _located(where):
        return [Step(*(record[name] for name in _STEP))] * whole("count", record.get("count", 1), most=room)


def _list(item: object, where: str) -> list[object]:
    if not isinstance(item, list) or not item:
        raise DataError(f"{where} must be a list with at least one entry; got {item!r:.60}.")
    return cast(list[object], item)


@contextmanager
def _located(where: str) -> Generator[None]:
    try:
        yield
    except ConfigError as error:
        raise DataError(f"{where}: {error}") from error


def _no_constant(name: str) -> None:
    raise DataError(f"not valid JSON: {name} is no number a ledger can have.")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise DataError("not valid JSON: an object names a field twice.")
    return record
