"""One run, one pair: what a worker does, in this process, another one, or on a Ray node."""

import copy
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError, DataError, ExpungeError
from .coupling import Deletion, Stream, base_stream, chance, checked, fingerprint, retained, retained_stream
from .distance import full_state, gap
from .store import Store

Train = Callable[[Stream, int], Any]
Clean = Callable[[nn.Module, Stream, int], nn.Module]
Keep = Callable[[nn.Module, Stream, int], Any]  # the blocks of a keep-space, from this pair's retained samples
Model = nn.Module | dict[str, Tensor]
Snapshot = tuple[int, Model, dict[str, float]]


@dataclass(frozen=True)
class Job:
    """Everything a worker needs."""

    train: Train
    dataset: Any
    deletion: Deletion
    store: Store
    seed: int = 0
    clean: Clean | None = None
    design: Any = None
    keep: Keep | None = None
    threads: int = 1

    def forget(self, pair: int) -> Tensor:
        """What goes in this pair."""
        drawn = self.deletion.forget(self.dataset, chance(self.seed, pair, "deletion"))
        return checked(drawn, len(self.dataset))


def run_base(job: Job, seed: int) -> None:
    """Train on all data, and keep every snapshot; a run that diverged is kept as such."""
    if job.store.run(seed) is not None:
        return
    kept: list[dict[str, Any]] = []
    failed = None
    try:
        with surroundings(job.threads, seed):
            for place, (step, model, metrics) in enumerate(snapshots(job.train, base_stream(job.dataset), seed)):
                sha256 = job.store.keep_weights(seed, place, full_state(model))
                kept.append({"step": step, "metrics": metrics, "sha256": sha256})
    except ConfigError:
        raise  # wrong use, which no other seed would mend
    except (ExpungeError, ArithmeticError) as error:
        failed = f"the run on all data: {_reason(error)}"
    job.store.keep_run(seed, kept, failed)


def run_pair(job: Job, pair: int, seed: int) -> dict[str, Any]:
    """Train on retained data with the base run's seed, and measure the gap; a run that diverged is recorded as failed."""
    started = time.monotonic()
    forget = job.forget(pair)
    result: dict[str, Any] = {"pair": pair, "seed": seed, "forget_sha256": fingerprint(forget), "removed": len(forget)}
    try:
        with surroundings(job.threads, seed):
            result |= _measure(job, pair, forget, seed)
    except ConfigError:
        raise
    except (ExpungeError, ArithmeticError) as error:
        result["failed"] = _reason(error)
    result["seconds"] = round(time.monotonic() - started, 3)
    job.store.keep_pair(pair, result)
    return result


def is_failed(result: dict[str, Any]) -> bool:
    """Whether a pair has no gap to offer; it then counts as infinite."""
    return "failed" in result or not math.isfinite(result["gap"]["total"])


def _measure(job: Job, pair: int, forget: Tensor, seed: int) -> dict[str, Any]:
    base = job.store.run(seed)
    if base is None:
        raise ConfigError(
            f"the base run of seed {seed} is missing: {job.store.folder} must be the same for all workers."
        )
    if base["failed"]:
        raise DataError(base["failed"])
    trajectory, model = _trajectory(job, retained_stream(job.dataset, forget, chance(job.seed, pair, "slots")), seed)
    result: dict[str, Any] = {"trajectory": trajectory, "gap": trajectory[-1]["gap"]}
    if job.clean is not None or job.keep is not None:
        rest = Stream(job.dataset, retained(forget, len(job.dataset)))
        result |= {"gap_as_trained": result["gap"], "gap": _gap_at_noise(job, pair, model, rest, seed)}
    return result


def _trajectory(job: Job, stream: Stream, seed: int) -> tuple[list[dict[str, Any]], Model]:
    """The gap at every snapshot, and the model of the last."""
    base = (job.store.run(seed) or {})["snapshots"]
    points: list[dict[str, Any]] = []
    model: Model = {}
    for place, (step, model, metrics) in enumerate(snapshots(job.train, stream, seed)):
        if place >= len(base) or base[place]["step"] != step:
            raise DataError(f"the retained run has a snapshot at step {step} and the run on all data has none. {_SAME}")
        found = gap(model, job.store.weights(seed, place), job.design)
        points.append({"step": step, "gap": found, "metrics": {"base": base[place]["metrics"], "retained": metrics}})
    if len(points) != len(base):
        raise DataError(f"the retained run gave {len(points)} snapshots and the run on all data {len(base)}. {_SAME}")
    return points, model


def _gap_at_noise(job: Job, pair: int, model: Model, rest: Stream, seed: int) -> dict[str, Any]:
    """The gap where the noise will enter: inside the pair's own keep-space, after the same clean phase in both models."""
    if not isinstance(model, nn.Module):
        raise ConfigError("a keep-space and a clean phase need train to give modules, not state dicts.")
    keep = job.keep and job.keep(model, rest, chance(job.seed, pair, "bases"))
    other = copy.deepcopy(model)
    other.load_state_dict(job.store.weights(seed, -1))
    for each in (other, model):
        if job.clean is not None:
            job.clean(each, rest, seed)
        _finite(each)
    return gap(model, full_state(other), job.design, keep)


def snapshots(train: Train, stream: Stream, seed: int) -> Iterator[Snapshot]:
    """What `train` gives: a model at the end, or (step, model[, metrics]) again and again on the way."""
    made = train(stream, seed)
    if isinstance(made, (nn.Module, dict)):
        yield 0, _finite(made), {}
        return
    if not isinstance(made, Iterator):
        made = iter(made) if isinstance(made, (list, tuple)) else _misused(made)
    count = 0
    for item in made:
        if not isinstance(item, tuple) or len(item) not in (2, 3) or not isinstance(item[1], (nn.Module, dict)):
            _misused(item)
        count += 1
        yield int(item[0]), _finite(item[1]), _metrics(*item[2:])
    if count == 0:
        raise ConfigError("train gave no model: return one, or yield (step, model) at least once.")


def _misused(item: object) -> Iterator[Any]:
    raise ConfigError(
        f"train(stream, seed) must return a model or a state dict, or yield (step, model) or (step, model, metrics); "
        f"got {item!r:.80}."
    )


def _metrics(found: dict[str, Any] | None = None) -> dict[str, float]:
    values = {str(name): float(value) for name, value in (found or {}).items()}
    if wrong := [name for name, value in values.items() if not math.isfinite(value)]:
        raise DataError(f"the metric {wrong[0]!r} is {values[wrong[0]]}: the run diverged.")
    return values


def _finite(model: Model) -> Model:
    for name, tensor in model.state_dict().items() if isinstance(model, nn.Module) else model.items():
        if not bool(torch.isfinite(tensor).all()):
            raise DataError(f"{name!r} is not finite: the run diverged.")
    return model


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextmanager
def surroundings(threads: int, seed: int):
    """The same wherever a run takes place: threads, because sums depend on them to the last bit, and torch's generator."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


_SAME = "train must give them at the same steps in both."
