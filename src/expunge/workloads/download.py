"""Published files, from whichever mirror answers: of the right size and SHA-256, or not at all.

A download that is cut continues where it stopped (HTTP Range), now or in a later run. The file appears under its name
only when it is whole and its hash is right.
"""

import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConfigError, DataError

MIRROR = "EXPUNGE_MIRROR"  # base URLs, separated by commas, to use instead of the published ones
Meter = Callable[[str, int, int], None]  # file, bytes so far, bytes in all
_PIECE = 2**18


def silent(_file: str, _done: int, _size: int) -> None:
    """No progress at all."""


@dataclass(frozen=True)
class Source:
    """A published file: its name, its exact size and hash, and the base URLs that have it."""

    file: str
    size: int
    sha256: str
    mirrors: tuple[str, ...]


def fetch(
    source: Source,
    folder: Path,
    *,
    mirrors: Sequence[str] | None = None,
    progress: Meter = silent,
    attempts: int = 3,
    timeout: float = 30.0,
    pause: float = 1.0,
) -> Path:
    """The file in `folder`, downloaded if it is not there. Each mirror gets `attempts` tries before the next is asked."""
    target = folder / source.file
    if target.exists() and file_sha256(target) == source.sha256:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for base in _bases(source, mirrors):
        url = f"{base.rstrip('/')}/{source.file}"
        for attempt in range(attempts):
            try:
                return _try(source, url, target, progress, timeout)
            except (
                OSError,
                http.client.HTTPException,
                _Unfit,
            ) as error:  # URLError, a reset and a timeout are OSErrors
                failures.append(f"{url}: {_reason(error)}")
                if not _again(error):
                    break
            time.sleep(pause * 2**attempt)
    raise DataError(
        f"cannot download {source.file}: {'; '.join(dict.fromkeys(failures))}. Check the network, set {MIRROR} to "
        f"a mirror, or put the file into {folder} yourself ({source.size} bytes, SHA-256 {source.sha256})."
    )


class _Unfit(Exception):  # noqa: N818 (it never leaves this file)
    """What came is not the file; `again` says whether the same server may do better."""

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again


def _bases(source: Source, mirrors: Sequence[str] | None) -> Sequence[str]:
    named = [base.strip() for base in os.environ.get(MIRROR, "").split(",") if base.strip()]
    bases = mirrors or named or source.mirrors
    for base in bases:
        if not base.startswith(("https://", "http://")):
            raise ConfigError(f"a mirror must be an http:// or https:// address; got {base!r}.")
    return bases


def _try(source: Source, url: str, target: Path, progress: Meter, timeout: float) -> Path:
    partial = target.with_name(f"{target.name}.part")
    before = partial.stat().st_size if partial.exists() else 0
    if before < source.size:
        _receive(source, url, partial, before, progress, timeout)
    size = partial.stat().st_size
    if size < source.size:
        raise _Unfit(f"the connection was cut at {size} of {source.size} bytes", again=True)
    found = f"SHA-256 {file_sha256(partial)}" if size == source.size else "more bytes"
    if found != f"SHA-256 {source.sha256}":
        partial.unlink()
        raise _Unfit(
            f"wrong content (expected {source.size} bytes with SHA-256 {source.sha256}, got {found})", again=before > 0
        )
    os.replace(partial, target)
    return target


def _receive(source: Source, url: str, partial: Path, start: int, progress: Meter, timeout: float) -> None:
    headers = {"User-Agent": "expunge", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout) as answer:
        done = start if _continues(answer.status, answer.headers.get("Content-Range", ""), start) else 0
        length = answer.headers.get("Content-Length", "")
        if length.isdecimal() and done + int(length) != source.size:
            raise _Unfit(f"wrong content (expected {source.size} bytes, got {done + int(length)})", again=False)
        with partial.open("ab" if done else "wb") as file:
            while done <= source.size and (piece := answer.read1(min(_PIECE, source.size + 1 - done))):
                file.write(piece)
                done += len(piece)
                progress(source.file, min(done, source.size), source.size)


def _continues(status: int, content_range: str, start: int) -> bool:
    """Whether the answer goes on where we are; a server may ignore Range and send the whole file."""
    match = re.fullmatch(r"bytes (\d+)-.*", content_range)
    return start > 0 and status == 206 and match is not None and int(match[1]) == start


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"no connection ({error.reason})"
    return str(error) or type(error).__name__


def _again(error: Exception) -> bool:
    """A server that has no such file, or another one, will not have it a second later."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return error.code >= 500 or error.code in (408, 429)
    return not isinstance(error, _Unfit) or error.again


def file_sha256(path: Path) -> str:
    """Of a file's bytes."""
    hashing = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                hashing.update(piece)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    return hashing.hexdigest()
