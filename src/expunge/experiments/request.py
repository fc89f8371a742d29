"""What is compared: data, model, deletion, privacy, methods, seeds. Plain values, for other processes to read."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..accounting import Accountant, Proximity
from ..accounting.checks import number, probability, whole
from ..errors import ConfigError
from ..methods import METHODS
from ..workloads import Deletion, Split, open_workload, split
from .view import View

ALWAYS = ("retrain", "from_public", "output_perturbation")  # the honest baselines
OTHER_SETS = 1000  # deletions of requests begin here; calibration pairs draw those below


@dataclass(frozen=True)
class Request:
    """One comparison.

    methods     names; None is all. The honest baselines (`ALWAYS`) come along, unless `without` names them
    proximity   Δ, measured or given. It must not rest on the models that are compared here
    simulate    noise from the seed: the same numbers every time, and certificates that verify as nothing
    shadows     more retrained models for each seed, for the attacks that need some
    changes     fields of the training recipe to set otherwise
    settings    method → its hyper-parameters to set otherwise
    """

    workload: str
    deletion: Deletion
    epsilon: float
    delta: float
    proximity: Proximity | float
    seeds: tuple[int, ...] = (0,)
    methods: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    scale: str = "laptop"
    accountant: Accountant = "gaussian"
    simulate: bool = False
    shadows: int = 1
    data_dir: str | Path | None = None
    weights: str | Path | None = None
    device: str = "cpu"
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    settings: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, above=0.0)
        probability("delta", self.delta)
        whole("shadows", self.shadows, least=0)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds must be one or more, each once; got {self.seeds}.")
        for name in (*(self.methods or ()), *self.without, *self.settings):
            if name not in METHODS:
                raise ConfigError(f"there is no method {name!r}; they are {', '.join(METHODS)}.")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The methods to run, in the registry's order."""
        asked = METHODS if self.methods is None else {*self.methods, *ALWAYS}
        return tuple(name for name in METHODS if name in asked and name not in self.without)

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


def open_view(request: Request) -> View:
    """The request's data on its device, read once in each process."""
    changes = tuple(sorted(request.changes.items()))
    return _open(request.workload, request.scale, request.data_dir, request.weights, request.device, changes)


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
