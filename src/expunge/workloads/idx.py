"""The IDX format of MNIST: a magic number, the sizes, then unsigned bytes. With gzip or without.

Format: two zero bytes, a type (0x08: unsigned byte), the number of dimensions, each size as a big-endian int32, the data.
"""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import torch
from torch import Tensor

from ..errors import DataError

_UNSIGNED_BYTE = 0x08
_GZIP = b"\x1f\x8b"
_DENSEST = 1032  # deflate cannot pack more bytes than this into one


def read(path: Path, *, dimensions: int) -> Tensor:
    """The uint8 tensor in a file that must be exactly one IDX array of so many dimensions."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            if not packed:
                return _read(raw, path, dimensions, path.stat().st_size)
            with gzip.open(raw) as unpacked:
                return _read(unpacked, path, dimensions, path.stat().st_size * _DENSEST)  # pyright: ignore[reportArgumentType]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file ({error}). Get it again.") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error


def _read(file: BinaryIO, path: Path, dimensions: int, most: int) -> Tensor:
    header = file.read(4 + 4 * dimensions)
    expected = bytes([0, 0, _UNSIGNED_BYTE, dimensions])
    if header[:4] != expected:
        raise DataError(
            f"{path} is not an IDX file of unsigned bytes with {dimensions} dimensions: expected it to begin with "
            f"{expected.hex()}, got {header[:4].hex() or 'nothing'}."
        )
    if len(header) < 4 + 4 * dimensions:
        raise DataError(f"{path} is truncated within its header. Get it again.")
    sizes = struct.unpack(f">{dimensions}I", header[4:])
    return _data(file, path, sizes, most)


def _data(file: BinaryIO, path: Path, sizes: tuple[int, ...], most: int) -> Tensor:
    expected = math.prod(sizes)
    if expected == 0:
        raise DataError(f"{path} must hold one sample or more; its header says {' × '.join(map(str, sizes))}.")
    content = file.read(expected + 1) if expected <= most else b""  # a header may claim any size; the file cannot
    if len(content) < expected:
        raise DataError(
            f"{path} is truncated: its header says {' × '.join(map(str, sizes))} = {expected} bytes of data, and there are "
            f"{'fewer' if not content else len(content)}. Get it again."
        )
    if len(content) > expected:
        raise DataError(f"{path} goes on after the {expected} bytes of data that its header says. Get it again.")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).reshape(sizes)
