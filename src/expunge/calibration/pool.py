"""Where the runs take place: in this process, in several, or on a Ray cluster. Engines that exist; no scheduler of ours."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from ..errors import ConfigError, ExpungeError

Work = Callable[..., Any]
RETRIES = 2  # of work whose worker was killed; work that fails by itself is not repeated


def run_all(work: Work, arguments: Sequence[tuple[Any, ...]], *, workers: int, ray: str | None) -> Iterator[Any]:
    """The results of `work(*arguments[i])`, as they come."""
    if ray is not None:
        return _on_ray(work, arguments, ray)
    if workers > 1 and len(arguments) > 1:
        return _in_processes(work, arguments, workers)
    return (work(*values) for values in arguments)


def _in_processes(work: Work, arguments: Sequence[tuple[Any, ...]], workers: int) -> Iterator[Any]:
    """Fresh processes (a fork would inherit torch's threads, and hang). A killed worker's work is done again."""
    waiting = dict(enumerate(arguments))
    for _ in range(RETRIES + 1):
        with ProcessPoolExecutor(min(workers, len(waiting)), mp_context=get_context("spawn")) as pool:
            try:
                running = {pool.submit(work, *values): index for index, values in waiting.items()}
            except (AttributeError, TypeError) as error:
                raise _unsendable(error) from error
            for future in as_completed(running):
                try:
                    result = future.result()
                except BrokenProcessPool:
                    continue
                except (AttributeError, TypeError) as error:
                    raise _unsendable(error) from error
                del waiting[running[future]]
                yield result
        if not waiting:
            return
    raise ExpungeError(f"{len(waiting)} runs lost their worker {RETRIES + 1} times: is there memory enough?")


def _unsendable(error: Exception) -> ConfigError:
    return ConfigError(
        f"train, data set and deletion must be found by their name in a module, to be sent to another process ({error}). "
        "Define them at the top level of a module, or use workers=1."
    )


def _on_ray(work: Work, arguments: Sequence[tuple[Any, ...]], address: str) -> Iterator[Any]:
    """On a running cluster, whose nodes share the calibration's folder; Ray repeats what a dead worker leaves."""
    try:
        import ray
    except ImportError as error:
        raise ConfigError("Ray is not installed. Install it: pip install 'expunge[ray]'.") from error
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    remote = ray.remote(max_retries=RETRIES, num_cpus=1)(work)
    running = [remote.remote(*values) for values in arguments]
    while running:
        done, running = ray.wait(running)
        yield ray.get(done[0])
