"""Where the runs take place: in this process, in several, or on a Ray cluster. Engines that exist; no scheduler of ours."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from queue import SimpleQueue
from threading import Thread
from typing import Any

from ..errors import ConfigError

Arguments = tuple[Any, ...]
RETRIES = 2  # of work whose worker was killed; work that fails by itself is not repeated
KILLED = (
    f"its process was killed {RETRIES + 1} times. Is there memory enough, and can train, data set and deletion be imported "
    "by another process?"
)


@dataclass(frozen=True)
class Lost:
    """Work that never came back: its worker was killed, again and again."""

    arguments: Arguments
    reason: str


def run_all(
    work: Callable[..., Any], job: Any, arguments: Sequence[Arguments], *, workers: int, threads: int, ray: str | None
) -> Iterator[Any]:
    """The results of `work(job, *arguments[i])`, as they come."""
    if not arguments:
        return iter(())
    if ray is not None:
        return _on_ray(work, job, arguments, ray, threads)
    if workers > 1 and len(arguments) > 1:
        return _in_processes(work, job, arguments, min(workers, len(arguments)))
    return (work(job, *values) for values in arguments)


def _in_processes(work: Callable[..., Any], job: Any, arguments: Sequence[Arguments], workers: int) -> Iterator[Any]:
    """A process for each worker, so that one that is killed takes no other's work with it."""
    _refuse_unsendable(job)
    slots: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
    for _ in range(workers):
        slots.put(_slot())

    def one(values: Arguments) -> Any:
        slot = slots.get()
        try:
            for _ in range(RETRIES + 1):
                with suppress(BrokenProcessPool):
                    return slot.submit(work, job, *values).result()
                slot.shutdown()
                slot = _slot()
            return Lost(values, KILLED)
        finally:
            slots.put(slot)

    handing = ThreadPoolExecutor(workers)
    try:
        for future in as_completed([handing.submit(one, values) for values in arguments]):
            yield future.result()
    finally:
        handing.shutdown(cancel_futures=True)
        while not slots.empty():
            slots.get().shutdown()


def _slot() -> ProcessPoolExecutor:
    spawn = get_context("spawn")  # a fork would inherit torch's threads, and hang
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_end_with_the_parent)


def _end_with_the_parent() -> None:
    """A worker whose parent was killed would work on for nobody, and never end."""
    if (parent := parent_process()) is not None:
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


def _refuse_unsendable(job: Any) -> None:
    try:
        ForkingPickler.dumps(job)
    except (AttributeError, TypeError, PicklingError) as error:
        raise ConfigError(
            f"train, data set and deletion must be found by their name in a module, to reach another process ({error}). "
            "Define them at the top level of a module, or use workers=1."
        ) from error


def _on_ray(
    work: Callable[..., Any], job: Any, arguments: Sequence[Arguments], address: str, threads: int
) -> Iterator[Any]:
    """On a running cluster, whose nodes share the calibration's folder; Ray repeats what a dead worker leaves."""
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise ConfigError("Ray is not installed. Install it: pip install 'expunge[ray]'.") from error
    if ours := not ray.is_initialized():
        _connect(ray, address)
    try:
        remote, shared = ray.remote(max_retries=RETRIES, num_cpus=threads)(work), ray.put(job)
        running = {remote.remote(shared, *values): values for values in arguments}
        while running:
            (done,), _ = ray.wait(list(running))
            values = running.pop(done)
            try:
                yield ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise _cause(ray, error) from error
            except ray.exceptions.RayError as error:
                yield Lost(values, f"Ray lost it {RETRIES + 1} times: {' '.join(str(error).split())[:200]}")
    finally:
        if ours:
            ray.shutdown()


def _cause(ray: Any, error: Any) -> Exception:
    """What the work itself raised; or that a node could not even begin."""
    if not isinstance(error.cause, ray.exceptions.RayError):
        return error.cause
    reason = str(error.cause).splitlines()[0]
    return ConfigError(
        f"a Ray node cannot run it ({reason}). Install your modules on every node, or set PYTHONPATH there."
    )


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"no Ray cluster answers at {address!r} ({reason}). Start one: ray start --head.") from error
