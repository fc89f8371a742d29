"""A kind of trained model and a kind of request: what every cell of a comparison or an experiment has in common.

Plain values, for other processes to read.
"""

from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..accounting.checks import whole
from ..workloads import Deletion, Split, open_workload, split
from .curve import Looks
from .view import View

OTHER_SETS = 1000  # deletions of requests begin here; calibration pairs draw those below


@dataclass(frozen=True)
class Case:
    """Data, model and deletion.

    shadows     more retrained models for each seed, for the attacks that need some
    features    of the support vector machines that audit membership; None is all
    changes     fields of the training recipe to set otherwise
    looks       how closely a run is followed for its curve; None: not at all
    """

    workload: str
    deletion: Deletion
    _: KW_ONLY
    scale: str = "laptop"
    shadows: int = 1
    features: tuple[str, ...] | None = None
    data_dir: str | Path | None = None
    weights: str | Path | None = None
    device: str = "cpu"
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    looks: Looks | None = field(default_factory=Looks)

    def __post_init__(self) -> None:
        whole("shadows", self.shadows, least=0)

    def describe(self) -> dict[str, Any]:
        """What makes the trained models and the deletion these, and no others."""
        view = open_view(self)
        return {
            "recipe": view.workload.recipe.describe(),
            "data": view.workload.dataset.sha256,
            "deletion": self.deletion.describe(),
        }

    def split(self, seed: int) -> Split:
        """What goes and what stays in the request of this seed."""
        return split(open_view(self).workload.dataset, self.deletion, OTHER_SETS + seed)


def open_view(case: Case) -> View:
    """The case's data on its device, read once in each process."""
    changes = tuple(sorted(case.changes.items()))
    return _open(case.workload, case.scale, case.data_dir, case.weights, case.device, changes)


@lru_cache(maxsize=1)
def _open(
    name: str,
    scale: str,
    data_dir: str | Path | None,
    weights: str | Path | None,
    device: str,
    changes: tuple[tuple[str, Any], ...],
) -> View:
    options: dict[str, Any] = {"scale": scale, "data_dir": data_dir, "weights": weights, "device": device}
    return View(open_workload(name, **options, **dict(changes)))
