"""Takes named files out of a tar archive, and checks each. Nothing else in the archive is looked at or written."""

import hashlib
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from ..errors import DataError
from ..weights import Atomic

_PIECE = 2**20


def unpack(archive: Path, members: Mapping[str, tuple[int, str]], folder: Path) -> None:
    """Write `members` (path → size and SHA-256) below `folder`, each whole or not at all."""
    wanted = dict(members)
    try:
        with tarfile.open(archive, "r:*") as tar:
            for entry in tar:
                if entry.isfile() and entry.name in wanted:
                    content = tar.extractfile(entry)
                    if content is not None:
                        _write(content, archive, folder / entry.name, *wanted.pop(entry.name))
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise DataError(f"cannot unpack {archive}: {error}. Delete it and get it again.") from error
    if wanted:
        raise DataError(f"{archive} lacks {', '.join(sorted(wanted))}. Delete it and get it again.")


def _write(content: IO[bytes], archive: Path, target: Path, size: int, sha256: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    hashing, done = hashlib.sha256(), 0
    with Atomic(target, 0o644) as file:
        while done <= size and (piece := content.read(_PIECE)):
            hashing.update(piece)
            file.write(piece)
            done += len(piece)
        if (done, hashing.hexdigest()) != (size, sha256):
            raise DataError(
                f"{target.name} in {archive} is not the published file: expected {size} bytes with SHA-256 {sha256}, got "
                f"{done} bytes or more with {hashing.hexdigest()}. Delete the archive and get it again."
            )
