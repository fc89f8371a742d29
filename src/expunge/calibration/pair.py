"""One run, one pair: what a worker does, on this process, another one, or a Ray node."""

import copy
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import DataError, ExpungeError
from .coupling import Deletion, Stream, base_stream, checked, fingerprint, retained_stream
from .distance import distances, full_state, trainable
from .store import Store

Train = Callable[[Stream, int], Any]
Clean = Callable[[nn.Module, Stream, int], nn.Module]
Model = nn.Module | dict[str, Tensor]
Snapshot = tuple[int, Model, dict[str, float]]


@dataclass(frozen=True)
class Job:
    """Everything a worker needs."""

    train: Train
    dataset: Any
    deletion: Deletion
    store: Store
    clean: Clean | None = None
    design: Any = None
    threads: int = 1


def run_base(job: Job, seed: int) -> None:
    """Train on all data, and keep every snapshot."""
    if job.store.run(seed) is not None:
        return
    kept: list[dict[str, Any]] = []
    with fixed_threads(job.threads):
        for place, (step, model, metrics) in enumerate(snapshots(job.train, base_stream(job.dataset), seed)):
            job.store.keep_weights(seed, place, full_state(model))
            kept.append({"step": step, "metrics": metrics})
    job.store.keep_run(seed, kept)


def run_pair(job: Job, index: int, seed: int) -> dict[str, Any]:
    """Train on retained data with the base run's seed, and measure the gap; a run that diverged is recorded as failed."""
    started = time.monotonic()
    forget = checked(job.deletion.forget(job.dataset, index), len(job.dataset))
    stream = retained_stream(job.dataset, forget, index)
    result: dict[str, Any] = {"pair": index, "seed": seed, "forget_sha256": fingerprint(forget), "removed": len(forget)}
    try:
        with fixed_threads(job.threads):
            result |= _measure(job, stream, seed)
    except (ExpungeError, ArithmeticError) as error:
        result["failed"] = f"{type(error).__name__}: {error}"
    result["seconds"] = time.monotonic() - started
    job.store.keep_pair(index, result)
    return result


def _measure(job: Job, stream: Stream, seed: int) -> dict[str, Any]:
    base = job.store.run(seed)
    if base is None:
        raise DataError(f"the base run of seed {seed} is missing.")
    trajectory: list[dict[str, Any]] = []
    model: Model = {}
    for place, (step, model, metrics) in enumerate(snapshots(job.train, stream, seed)):
        if place >= len(base) or base[place]["step"] != step:
            raise DataError(
                "the two runs of a pair give snapshots at different steps; train must not decide that by data."
            )
        found = _gap(job, model, job.store.weights(seed, place))
        trajectory.append(
            {"step": step, "gap": found, "metrics": {"base": base[place]["metrics"], "retained": metrics}}
        )
    if len(trajectory) != len(base):
        raise DataError("the retained run gave fewer snapshots than the base run.")
    result: dict[str, Any] = {"trajectory": trajectory, "gap": trajectory[-1]["gap"]}
    if job.clean is not None:
        result |= {"gap_as_trained": result["gap"], "gap": _gap_after_clean(job, job.clean, model, stream, seed)}
    return result


def _gap(job: Job, model: Model, base: dict[str, Tensor]) -> dict[str, Any]:
    state = trainable(model, full_state(model))
    return distances({name: base[name] for name in state}, state, _partition(job.design, state))


def _gap_after_clean(job: Job, clean: Clean, model: Model, stream: Stream, seed: int) -> dict[str, Any]:
    """Both models through the same clean phase on retained data: the gap where the noise will enter."""
    if not isinstance(model, nn.Module):
        raise DataError("a clean phase needs train to give modules, not state dicts.")
    other = copy.deepcopy(model)
    other.load_state_dict(job.store.weights(seed, len(job.store.run(seed) or ()) - 1))
    clean(other, stream, seed)
    clean(model, stream, seed)
    return _gap(job, model, full_state(_finite(other)))


def snapshots(train: Train, stream: Stream, seed: int) -> Iterator[Snapshot]:
    """What `train` gives: a model at the end, or (step, model[, metrics]) again and again on the way."""
    made = train(stream, seed)
    if isinstance(made, (nn.Module, dict)):
        yield 0, _finite(made), {}
        return
    count = 0
    for item in made:
        step, model, *rest = item
        count += 1
        yield int(step), _finite(model), dict(rest[0]) if rest else {}
    if count == 0:
        raise DataError("train gave no model: return one, or yield (step, model) at least once.")


def _finite(model: Model) -> Model:
    for name, tensor in model.state_dict().items() if isinstance(model, nn.Module) else model.items():
        if not bool(torch.isfinite(tensor).all()):
            raise DataError(f"{name!r} is not finite: the run diverged.")
    return model


def _partition(design: Any, state: dict[str, Tensor]) -> Any:
    return None if design is None else design.bind({name: tensor.shape for name, tensor in state.items()})


@contextmanager
def fixed_threads(threads: int):
    """The same number of threads wherever a run takes place: sums depend on it to the last bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_failed(result: dict[str, Any]) -> bool:
    """Whether a pair has no gap to offer; it then counts as infinite."""
    return "failed" in result or not math.isfinite(result["gap"]["total"])
