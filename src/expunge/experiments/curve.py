"""Test accuracy along a run, at every noisy step and at ever wider intervals of the others."""

import copy
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..unlearning import Progress


@dataclass(frozen=True)
class Looks:
    """How closely a run is looked at: on how many test samples, and how much longer each interval is than the last."""

    samples: int = 1000
    wider: float = 1.25  # 1, 2, 3, 4, 5, 7, 9, 12, … steps


class Curve:
    """A hook for a task. It looks at copies, so that looking changes nothing; `seconds` is what that took, by phase."""

    def __init__(self, inputs: Tensor, labels: Tensor, wider: float = Looks.wider) -> None:
        self._inputs, self._labels, self._wider = inputs, labels, wider
        self.points: list[dict[str, Any]] = []
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._due: dict[str, int] = {}

    def __call__(self, progress: Progress, model: nn.Module) -> None:
        """One step was taken."""
        due = self._due.get(progress.phase, 1)
        if progress.phase != "noise" and progress.step < due and progress.step != progress.steps:
            return
        self._due[progress.phase] = max(progress.step + 1, int(progress.step * self._wider))
        began = time.perf_counter()
        self.points.append({**progress.point, "test_accuracy": self._accuracy(model, noisy=progress.phase == "noise")})
        self.seconds[progress.phase] += time.perf_counter() - began

    def _accuracy(self, model: nn.Module, *, noisy: bool) -> float:
        """While noise falls, running statistics are void, and those of the batch take their place."""
        twin = copy.deepcopy(model).train(noisy)
        with torch.no_grad():
            return float((twin(self._inputs).argmax(1) == self._labels).float().mean())
