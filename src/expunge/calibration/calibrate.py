"""Coupled pairs → Δ(ϱ). The gaps are measured; what they support is order statistics, and nothing more is claimed."""

import json
import math
from collections.abc import Callable, Sized
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..accounting import Proximity
from ..accounting.checks import number, whole
from ..accounting.proximity import confidence, order_statistic
from ..errors import ConfigError, ProximityError
from .coupling import Deletion, checked, fingerprint
from .pair import Clean, Job, Train, is_failed, run_base, run_pair
from .pool import run_all
from .store import Store

SCHEMA = "expunge.calibration/1"


@dataclass(frozen=True)
class Calibration:
    """Every gap that was measured, and the proximity that they support."""

    proximity: Proximity
    pairs: tuple[dict[str, Any], ...]
    coupling: dict[str, Any]

    @property
    def gaps(self) -> list[float]:
        """Of the pairs that ended well, in their order."""
        return [pair["gap"]["total"] for pair in self.pairs if not is_failed(pair)]

    @property
    def confidence(self) -> float:
        """How sure these pairs make us that the bound covers 1 − ϱ of all requests."""
        rank = round(self.proximity.failure * (len(self.pairs) + 1))
        return confidence(len(self.pairs), self.proximity.failure, rank=rank)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; the proximity can be read alone."""
        proximity = {field.name: getattr(self.proximity, field.name) for field in fields(self.proximity)}
        return {
            "schema": SCHEMA,
            "proximity": {**proximity, "assumptions": list(self.proximity.assumptions)},
            "gaps": self.gaps,
            "says": self.summary(),
            "coupling": self.coupling,
            "pairs": list(self.pairs),
        }

    def save(self, path: str | Path) -> None:
        """Write the proximity file, which `plan`, `unlearn` and `recertify` read."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def summary(self) -> str:
        """What the pairs can and cannot support, in words."""
        count, failure = len(self.pairs), self.proximity.failure
        failed = sum(map(is_failed, self.pairs))
        lost = f" {failed} of them diverged and count as infinite." if failed else ""
        return (
            f"{count} pairs.{lost} The gap {self.proximity.gap:.6g} is exceeded by the next request with probability at "
            f"most {failure:.4g} over pairs and request together. That 1 − {failure:.4g} of all requests stay below it has "
            f"confidence {self.confidence:.0%}. These pairs support no failure probability below {1 / (count + 1):.4g}."
        )


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
    on_pair: Callable[[dict[str, Any]], None] | None = None,
) -> Calibration:
    """Measure Δ for a training function, a data set and a kind of deletion.

    `train(stream, seed)` trains on a data set of the same length as `dataset` and returns a model; everything random in it
    must follow from the seed. It may instead yield (step, model, metrics) on the way, which gives trajectories.
    `shared_base`: one base run for all pairs (the production model's seed, so that the model itself is half of every pair).
    Default: where the deletion differs from pair to pair; a fixed deletion needs a fresh seed for every pair.
    `failure`: the ϱ to support, and so which order statistic to take; default the smallest that the pairs support.
    `clean(model, stream, seed)` trains both models on retained data, and the gap is measured after it; `entry` names it as
    the engine will (`FineTune.describe`, as JSON). `folder` keeps finished runs, so that an interrupted calibration goes on.
    """
    pairs = whole("pairs", pairs)
    if (clean is None) != (entry is None):
        raise ConfigError("clean and entry belong together: the clean phase, and its description.")
    size = len(dataset)
    forgets = [checked(deletion.forget(dataset, index), size) for index in range(pairs)]
    prints = [fingerprint(forget) for forget in forgets]
    varied = len(set(prints)) == pairs
    shared = varied if shared_base is None else shared_base
    if shared and not varied:
        raise ConfigError(
            "the deletion is the same in every pair, so one base run would give one gap. Do not share it."
        )
    seeds = [seed if shared else seed + index for index in range(pairs)]
    coupling = {
        "deletion": deletion.describe(),
        "dataset_size": size,
        "dataset_sha256": getattr(dataset, "sha256", None),
        "removed": [len(forget) for forget in forgets],
        "forget_sha256": prints,
        "seeds": seeds,
        "train": _name(train),
        "replacement": "a removed sample's position holds a retained sample, drawn with the pair's number",
        "entry": entry,
        "threads": threads,
        "design": None if design is None else design.describe(),
    }
    with TemporaryDirectory() as temporary:
        store = Store(temporary if folder is None else folder, coupling)
        job = Job(train, dataset, deletion, store, clean, design, threads)
        results = _run(job, seeds, workers, ray, on_pair)
    return Calibration(_proximity(results, failure, safety_factor, entry), tuple(results), coupling)


def _run(
    job: Job, seeds: list[int], workers: int, ray: str | None, on_pair: Callable[[dict[str, Any]], None] | None
) -> list[dict[str, Any]]:
    """Base runs first, each seed once; then the pairs that are not there yet."""
    missing = [index for index in range(len(seeds)) if job.store.pair(index) is None]
    bases = sorted({seeds[index] for index in missing if job.store.run(seeds[index]) is None})
    for _ in run_all(run_base, [(job, seed) for seed in bases], workers=workers, ray=ray):
        pass
    for result in run_all(run_pair, [(job, index, seeds[index]) for index in missing], workers=workers, ray=ray):
        if on_pair is not None:
            on_pair(result)
    return [job.store.pair(index) or {} for index in range(len(seeds))]


def _proximity(results: list[dict[str, Any]], failure: float | None, factor: float, entry: str | None) -> Proximity:
    """An order statistic in which a failed pair counts as infinite."""
    gaps = [math.inf if is_failed(result) else result["gap"]["total"] for result in results]
    failed = sum(map(math.isinf, gaps))
    rank = (
        failed + 1
        if failure is None
        else math.floor(number("failure", failure, above=0.0, below=1.0) * (len(gaps) + 1))
    )
    if rank <= failed or rank > len(gaps):
        raise ProximityError(
            f"{len(gaps)} pairs, {failed} of which diverged, support no failure probability of "
            f"{1 / (len(gaps) + 1) if failure is None else failure:.4g}. "
            + (results[gaps.index(math.inf)]["failed"] if failed else "Run more pairs, or ask for less.")
        )
    finite = [0.0 if math.isinf(gap) else gap for gap in gaps]  # the failed ones are above every rank that is taken
    chosen = order_statistic(
        sorted(finite, reverse=True)[: len(gaps) - failed], rank=rank - failed, safety_factor=factor
    )
    lost = (f"{failed} pairs diverged and were counted as infinite",) if failed else ()
    return Proximity(
        gap=chosen.gap,
        failure=rank / (len(gaps) + 1),
        source=f"number {rank} from the top of {len(gaps)} coupled pairs",
        assumptions=(*chosen.assumptions, *lost),
        entry=entry,
    )


def _name(function: Any) -> str:
    described = getattr(function, "describe", None)
    if callable(described):
        return str(described())
    kind = type(function)
    return f"{getattr(function, '__module__', kind.__module__)}:{getattr(function, '__qualname__', kind.__qualname__)}"
