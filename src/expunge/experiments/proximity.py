"""Δ for a comparison, from coupled pairs of its own: other seeds and other deletions than those that are compared."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from .. import calibration
from ..workloads import train
from .case import open_view
from .meter import Meter, silent
from .request import Request

PAIRS = 10_000  # seeds of the pairs begin here


def calibrated(
    request: Request,
    folder: str | Path,
    *,
    pairs: int = 10,
    workers: int = 1,
    ray: str | None = None,
    progress: Meter = silent,
) -> Request:
    """The request with a measured proximity. Each pair has a training seed of its own, as each seed of a comparison has."""
    done, place = 0, Path(folder)
    progress("proximity", 0, pairs)

    def advance(_: dict[str, Any]) -> None:
        nonlocal done
        done += 1
        progress("proximity", done, pairs)

    found = calibration.calibrate(
        _Training(request),
        open_view(request).workload.dataset.to("cpu"),
        request.deletion,
        pairs=pairs,
        seed=PAIRS,
        shared_base=False,
        folder=place / "pairs",
        workers=workers,
        ray=ray,
        on_pair=advance,
    )
    found.save(place / "proximity.json")
    return replace(request, proximity=found.proximity)


@dataclass(frozen=True)
class _Training:
    """The workload's training, as calibration calls it, in whatever process."""

    request: Request

    def __call__(self, stream: Any, seed: int) -> nn.Module:
        view = open_view(self.request)
        workload = view.workload
        recipe = replace(workload.recipe, test_samples=1)
        model = train(workload.model(seed), workload.stream(stream.index_map), recipe, seed=seed, device=view.device)
        return model.cpu()

    def describe(self) -> dict[str, Any]:
        """For the coupling."""
        return {"workload": self.request.workload, "recipe": open_view(self.request).workload.recipe.describe()}
