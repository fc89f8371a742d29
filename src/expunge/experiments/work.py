"""Pieces of work that do not wait for each other: here, in several processes, or on a Ray cluster."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..calibration.pool import Lost, run_all
from ..errors import ExpungeError
from .meter import Meter

Work = Callable[..., dict[str, Any]]


def run_each(
    work: Work,
    arguments: Sequence[tuple[Any, ...]],
    what: str,
    *,
    workers: int,
    ray: str | None,
    progress: Meter,
) -> list[dict[str, Any]]:
    """The results, as they come; `progress(what, done, of)`. Several processes share this machine's cores evenly."""
    found: list[dict[str, Any]] = []
    threads = max(1, (os.cpu_count() or 1) // workers)
    progress(what, 0, len(arguments))
    job = (work, threads if workers > 1 else None)
    for result in run_all(_call, job, arguments, workers=workers, threads=threads, ray=ray):
        if isinstance(result, Lost):
            raise ExpungeError(f"{what}: {result.reason} Finished work is kept: the same command goes on.")
        found.append(result)
        progress(what, len(found), len(arguments))
    return found


def _call(job: tuple[Work, int | None], *arguments: Any) -> dict[str, Any]:
    work, threads = job
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    return work(*arguments)
