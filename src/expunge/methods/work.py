"""A method at work: its clock, its counters, its chance, and the one step that every method here takes.

Between `with Work(method, task) as work:` and `return work.done()` a method draws `work.batches(...)` and calls `work.step`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ..certificate import Certificate
from ..errors import ConfigError, DataError
from ..unlearning import Meter, Progress, silent
from ..unlearning.batches import to_device
from ..unlearning.progress import Phase
from .task import Named, Task, Unlearned, unwatched


class Work:
    """Begins where it is entered; `model` is the one that is changed."""

    def __init__(self, method: Named, task: Task, model: nn.Module | None = None) -> None:
        self.method, self.task = method, task
        self.model = task.model if model is None else model
        self.device = next(self.model.parameters()).device
        self.steps, self.samples, self.seconds, self._paused = 0, 0, 0.0, 0.0
        self.heard = task.progress is not silent or task.on_step is not unwatched
        self.meter: Meter = self.tell if self.heard else silent

    def __enter__(self) -> "Work":
        self._stack = ExitStack()
        devices = [torch.cuda.current_device()] if self.device.type == "cuda" else []
        self._stack.enter_context(torch.random.fork_rng(devices))
        torch.manual_seed(self.task.seed)
        self._modes = {module: module.training for module in self.model.modules()}
        self.model.train()
        self._began = self._now()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.seconds = self._now() - self._began - self._paused
        self.model.zero_grad(set_to_none=True)
        for module, mode in self._modes.items():
            module.training = mode
        self._stack.close()

    def batches(self, source: Iterable[Any]) -> Iterator[Any]:
        """One pass over the data, on the model's device."""
        for batch in one_pass(source):
            self.samples += batch_size(batch)
            yield to_device(batch, self.device)

    def step(
        self,
        optimizer: torch.optim.Optimizer,
        loss: Tensor,
        *,
        phase: Phase = "fine-tune",
        total: int = 0,
        edit: Callable[[], None] | None = None,
    ) -> None:
        """Down this loss by one step; `edit` may change the gradients first."""
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise ConfigError(f"loss(model, batch) must return a scalar tensor; got {type(loss).__name__}.")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if edit is not None:
            edit()
        optimizer.step()
        self.steps += 1
        if self.heard:
            self.tell(Progress(phase, self.steps, max(total, self.steps), loss=loss.item()))

    def tell(self, progress: Progress) -> None:
        """Those who watch are told, and the clock stands still meanwhile."""
        began = self._now()
        self.task.progress(progress)
        self.task.on_step(progress, self.model)
        self._paused += self._now() - began

    def done(self, certificate: Certificate | None = None, **details: Any) -> Unlearned:
        """The result; a model that is no longer finite is none."""
        for name, tensor in self.model.state_dict().items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                raise DataError(f"{self.method.name}: {name!r} is no longer finite. Lower the learning rate.")
        settings = {"settings": self.method.describe(), **details}
        name, kind = self.method.name, self.method.kind
        return Unlearned(name, kind, self.model, certificate, self.steps, self.samples, self.seconds, settings)

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def one_pass(source: Iterable[Any]) -> Iterator[Any]:
    """Every batch once; refuses a pass that gives nothing."""
    empty = True
    for batch in source:
        empty = False
        yield batch
    if empty:
        raise DataError(
            "the data gave no batch. It may be empty, or an iterator that is used up: pass something that can be iterated "
            "again and again, such as a DataLoader."
        )


def batch_size(batch: Any) -> int:
    """How many samples a batch holds: the length of its first tensor."""
    if isinstance(batch, Tensor):
        return len(batch) if batch.dim() else 1
    parts = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return next((size for part in parts if (size := batch_size(part))), 0)
