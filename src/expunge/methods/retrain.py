"""Retraining from scratch without the data: exact, and what every other method is held against."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import ConfigError
from .settings import Described
from .task import Kind, Task, Unlearned
from .work import Work, batch_size


@dataclass(frozen=True)
class Retrain(Described):
    """A fresh model, trained on D_r as the original was trained on D: by `Task.train`."""

    name: ClassVar[str] = "retrain"
    kind: ClassVar[Kind] = "exact"

    def __call__(self, task: Task) -> Unlearned:
        """Retrain."""
        if task.train is None:
            raise ConfigError(
                "retrain needs to know how the original was trained. Give Task(train=train(model, retain))."
            )
        with Work(self, task, task.begin_afresh(self.name)) as work:
            counted = _Counted(task.retain)
            told = task.train(work.model, counted)
            work.steps, work.samples = told or (counted.batches, counted.samples)
        return work.done()


class _Counted:
    """Batches that are counted as they are drawn."""

    def __init__(self, source: Iterable[Any]) -> None:
        self._source, self.batches, self.samples = source, 0, 0

    def __iter__(self) -> Iterator[Any]:
        for batch in self._source:
            self.batches += 1
            self.samples += batch_size(batch)
            yield batch
