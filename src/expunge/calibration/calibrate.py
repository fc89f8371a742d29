"""Coupled pairs → Δ(ϱ): which pairs there are, which of them are still to be run, and what came out."""

import math
from collections.abc import Callable, Sized
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from ..accounting.checks import number, whole
from ..errors import ConfigError, ExpungeError, ProximityError
from .coupling import REPLACEMENT, Deletion, fingerprint
from .pair import Clean, Job, Train, is_failed, run_base, run_pair
from .pool import Lost, run_all
from .result import Calibration, support
from .store import Store

OnPair = Callable[[dict[str, Any]], None]


def calibrate(
    train: Train,
    dataset: Sized,
    deletion: Deletion,
    *,
    pairs: int = 10,
    seed: int = 0,
    shared_base: bool | None = None,
    failure: float | None = None,
    safety_factor: float = 1.0,
    clean: Clean | None = None,
    entry: str | None = None,
    design: Any = None,
    folder: str | Path | None = None,
    workers: int = 1,
    threads: int = 1,
    ray: str | None = None,
    on_pair: OnPair | None = None,
) -> Calibration:
    """Measure Δ for a training function, a data set and a kind of deletion.

    `train(stream, seed)` trains on a data set of the same length as `dataset` and returns a model; everything random in it
    must follow from the seed (torch's generator is seeded with it). It may instead yield (step, model, metrics) on the way,
    which gives trajectories. `dataset` needs a length and items; with a `sha256` it is named in the file.
    `shared_base`: one base run for all pairs (the production model's seed, so that the model itself is half of every pair).
    Default: where the deletion differs from pair to pair; a fixed deletion needs a fresh seed for every pair.
    `failure`: the ϱ to support, and so which order statistic to take; default the smallest that the pairs support.
    `clean(model, stream, seed)` trains a model on a stream of the retained samples alone, as the later run will, and the gap
    is measured after it; `entry` names it as the engine will (`FineTune.describe`, as JSON). `folder` keeps finished runs,
    so that an interrupted calibration goes on, and can be given more pairs; it holds trained weights. `on_pair` is told
    every pair, those that were finished before too.
    """
    pairs, workers, threads = whole("pairs", pairs), whole("workers", workers), whole("threads", threads)
    _refuse_misuse(train, clean, entry, ray, folder)
    if failure is not None:
        number("failure", failure, above=0.0, below=1.0)
    number("safety_factor", safety_factor, least=1.0)
    description = {
        "deletion": deletion.describe(),
        "dataset_size": len(dataset),
        "dataset_sha256": getattr(dataset, "sha256", None),
        "train": _name(train),
        "seed": whole("seed", seed, least=-(2**62)),
        "replacement": REPLACEMENT,
        "entry": entry,
        "threads": threads,
        "torch": torch.__version__,
        "design": None if design is None else design.describe(),
    }
    with TemporaryDirectory(prefix="expunge-") as temporary:
        job = Job(train, dataset, deletion, Store(folder or temporary, description), seed, clean, design, threads)
        forgets = [job.forget(pair) for pair in range(pairs)]
        prints = [fingerprint(forget) for forget in forgets]
        seeds = _seeds(seed, prints, shared_base)
        results = _run(job, list(zip(seeds, prints, strict=True)), workers, ray, on_pair)
    gaps = [math.inf if is_failed(result) else result["gap"]["total"] for result in results]
    if all(map(math.isinf, gaps)):
        raise ProximityError(f"all {pairs} pairs failed; the first: {results[0]['failed']}")
    coupling = {**description, "seeds": seeds, "removed": [len(forget) for forget in forgets], "forget_sha256": prints}
    found = replace(support(gaps, failure, safety_factor), entry=entry)
    return Calibration(found, tuple(results), coupling)


def _run(
    job: Job, wanted: list[tuple[int, str]], workers: int, ray: str | None, on_pair: OnPair | None
) -> list[dict[str, Any]]:
    """Base runs first, each seed once; then the pairs that are not there yet."""
    results = {pair: job.store.pair(pair, *about) for pair, about in enumerate(wanted)}
    tell = on_pair or (lambda _: None)
    for result in filter(None, results.values()):
        tell(result)
    missing = [pair for pair, result in results.items() if result is None]
    bases = sorted({wanted[pair][0] for pair in missing if job.store.run(wanted[pair][0]) is None})
    place: dict[str, Any] = {"workers": workers, "threads": job.threads, "ray": ray}
    for done in run_all(run_base, job, [(seed,) for seed in bases], **place):
        if isinstance(done, Lost):
            raise ExpungeError(f"the run on all data with seed {done.arguments[0]} was lost: {done.reason}")
    for done in run_all(run_pair, job, [(pair, wanted[pair][0]) for pair in missing], **place):
        result = _lost(done, wanted) if isinstance(done, Lost) else done
        results[result["pair"]] = result
        tell(result)
    return [results[pair] or {} for pair in range(len(wanted))]


def _lost(work: Lost, wanted: list[tuple[int, str]]) -> dict[str, Any]:
    """A pair whose worker was killed counts as failed; on disk it stays open, for the next calibration to try again."""
    pair, seed = work.arguments
    return {"pair": pair, "seed": seed, "forget_sha256": wanted[pair][1], "failed": work.reason}


def _seeds(seed: int, prints: list[str], shared: bool | None) -> list[int]:
    """Of the base run of every pair."""
    fixed = len(prints) > 1 and len(set(prints)) == 1
    if shared and fixed:
        raise ConfigError(
            "the deletion is the same in every pair, so one base run would give one gap. Do not share it."
        )
    return [seed + (pair if fixed or shared is False else 0) for pair in range(len(prints))]


def _refuse_misuse(train: object, clean: object, entry: str | None, ray: str | None, folder: object) -> None:
    if not callable(train):
        raise ConfigError(f"train must be a function of (stream, seed); got {train!r:.60}.")
    if (clean is None) != (entry is None):
        raise ConfigError("clean and entry belong together: the clean phase, and its description.")
    if ray is not None and folder is None:
        raise ConfigError("Ray needs folder, on a file system that all its nodes share.")


def _name(function: Any) -> Any:
    described = getattr(function, "describe", None)
    if callable(described):
        return described()
    own = getattr(function, "__self__", None)  # of a bound method
    if own is not None and callable(getattr(own, "describe", None)):
        return own.describe()
    kind = type(function)
    return f"{getattr(function, '__module__', kind.__module__)}:{getattr(function, '__qualname__', kind.__qualname__)}"
