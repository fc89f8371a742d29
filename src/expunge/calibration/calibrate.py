"""Coupled pairs → Δ(ϱ): which pairs there are, which of them are still to be run, and what came out."""

import json
import math
from collections.abc import Callable, Sized
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from ..accounting import Proximity
from ..accounting.checks import number, whole
from ..errors import ConfigError, ExpungeError, ProximityError
from .coupling import REPLACEMENT, Deletion, fingerprint
from .pair import Clean, Job, Keep, Train, is_failed, run_base, run_pair
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
    requests: int = 1,
    design: Any = None,
    keep: Keep | None = None,
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

    shared_base     one base run for all pairs: the production model's seed, so that the model itself is half of every pair.
                    Default: where the deletion differs from pair to pair; a fixed one needs a fresh seed for every pair
    failure         the ϱ to support, and so which order statistic to take; default the smallest that the pairs support
    clean, entry    clean(model, stream, seed) trains on the retained samples alone, as the later run will, and the gap is
                    measured after it; its name as the engine has it (`FineTune.describe`, as JSON)
    requests        2 if train is training and the unlearning of one earlier request together, its noise coupled too; …
    design          a block design: the gap per block as well
    keep            keep(model, stream, seed) gives the blocks of the design, a keep-space, by a run on the retained samples
                    alone, as the later run will; the gap is then that inside the keep-space
    folder          keeps finished runs, so that an interrupted calibration goes on, and can be given more pairs later; it
                    holds trained weights
    workers, ray    processes on this machine; the address of a Ray cluster whose nodes share the folder
    threads         of every run, the same everywhere: sums depend on it to the last bit
    on_pair         told every pair, those that were finished before too
    """
    _refuse_misuse(train, clean, entry, ray, folder, failure, safety_factor)
    workers, requests = whole("workers", workers), whole("requests", requests)
    description = {
        "deletion": deletion.describe(),
        "dataset_size": len(dataset),
        "dataset_sha256": getattr(dataset, "sha256", None),
        "train": _name(train),
        "seed": whole("seed", seed, least=-(2**62)),
        "replacement": REPLACEMENT,
        "entry": entry,
        "requests": requests,
        "threads": whole("threads", threads),
        "torch": torch.__version__,
        "design": None if design is None else design.describe(),
    }
    with TemporaryDirectory(prefix="expunge-") as temporary:
        store = Store(folder or temporary, description)
        job = Job(train, dataset, deletion, store, seed, clean, design if keep is None else None, keep, threads)
        forgets = [job.forget(pair) for pair in range(whole("pairs", pairs))]
        prints = [fingerprint(forget) for forget in forgets]
        seeds = _seeds(seed, prints, shared_base)
        results = _run(job, list(zip(seeds, prints, strict=True)), workers, ray, on_pair)
        bases = [job.store.base_sha256(seed) for seed in seeds]
    each = {"seeds": seeds, "base_sha256": bases, "removed": list(map(len, forgets)), "forget_sha256": prints}
    within = None if keep is None else json.dumps(description["design"], sort_keys=True)
    found = replace(_supported(results, failure, safety_factor), entry=entry, requests=requests, design=within)
    return Calibration(found, tuple(results), {**description, **each})


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


def _supported(results: list[dict[str, Any]], failure: float | None, factor: float) -> Proximity:
    if all(map(is_failed, results)):
        raise ProximityError(f"all {len(results)} pairs failed; the first: {results[0]['failed']}")
    return support([math.inf if is_failed(result) else result["gap"]["total"] for result in results], failure, factor)


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


def _refuse_misuse(
    train: object,
    clean: object,
    entry: str | None,
    ray: str | None,
    folder: object,
    failure: float | None,
    safety_factor: float,
) -> None:
    """What can be known before anything is trained."""
    if failure is not None:
        number("failure", failure, above=0.0, below=1.0)
    number("safety_factor", safety_factor, least=1.0)
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
