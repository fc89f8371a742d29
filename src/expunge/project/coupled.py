"""The project's functions as calibration calls them, in whatever process needs them: all they carry is the project."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from torch import nn
from torch.utils.data import DataLoader

from .materials import Materials, gather
from .settings import Project


@dataclass(frozen=True)
class Training:
    """The project's training as calibration calls it, in whatever process needs it."""

    project: Project

    def __call__(self, stream: Any, seed: int) -> Any:
        """One run; where the project asks for it, with looks at it on the way."""
        materials, every = _gathered(self.project), self.project.calibration.every
        if materials.workload is None or not every:
            return materials.trained(stream, seed)
        return materials.workload.trajectory(every)(materials.workload.stream(stream.index_map), seed)

    def describe(self) -> dict[str, Any]:
        """For the coupling."""
        opened = _gathered(self.project).workload
        own = {"function": self.project.model.train, **self.project.given(("model",))}
        return own if opened is None else {"workload": opened.recipe.workload, "recipe": opened.recipe.describe()}


@dataclass(frozen=True)
class Fresh:
    """The project's public initialisation, as a reference that holds no tensor."""

    project: Project

    def __call__(self) -> nn.Module:
        """Always the same."""
        return _gathered(self.project).fresh()


@dataclass(frozen=True)
class CleanBatches:
    """The retained samples of a clean phase, as calibration asks for them."""

    project: Project

    def __call__(self, stream: Any, seed: int) -> DataLoader[Any]:
        """Batches in the order that torch's own chance gives; whoever trains has seeded it."""
        return _gathered(self.project).batches(stream.index_map.tolist())


@lru_cache(maxsize=1)
def _gathered(project: Project) -> Materials:
    """Once for a process."""
    return gather(project)
