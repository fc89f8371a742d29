"""Training and earlier unlearning as one function, for calibration: what the proximity of a second request is about.

    first = expunge.calibrate(train, data, deletion, ...)
    both = Pipeline(train, loader, loss, (plan,), (tuning,))
    second = expunge.calibrate(both, data, deletion, requests=both.requests, ...)

Both runs of a pair draw the same noise: it is part of the coupling (docs/mathematics.md, "Requests one after another").
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import nn

from ..calibration import Stream
from ..errors import ConfigError
from ..planning import Plan
from ..subspaces import Design, from_description
from ..unlearning import FineTune, Loss, Options, run
from ..workloads.seeds import derive


@dataclass(frozen=True)
class Pipeline:
    """train(stream, seed), then every plan with its clean phase and its fine-tuning, on the same stream."""

    train: Callable[[Stream, int], nn.Module]
    loader: Callable[[Stream, int], Iterable[Any]]
    loss: Loss
    plans: tuple[Plan, ...]
    fine_tunes: tuple[FineTune | None, ...]
    cleans: tuple[FineTune | None, ...] = ()

    def __post_init__(self) -> None:
        if len(self.fine_tunes) != len(self.plans) or (self.cleans and len(self.cleans) != len(self.plans)):
            raise ConfigError(
                f"a pipeline needs a fine-tuning (or None) for each of its plans: got {len(self.fine_tunes)} for "
                f"{len(self.plans)}, and {len(self.cleans)} clean phases."
            )

    @property
    def requests(self) -> int:
        """The request that a proximity of this pipeline is for."""
        return len(self.plans) + 1

    def __call__(self, stream: Stream, seed: int) -> nn.Module:
        """One run, its noise from the seed."""
        model = self.train(stream, seed)
        cleans = self.cleans or (None,) * len(self.plans)
        for number, (plan, clean, tuning) in enumerate(zip(self.plans, cleans, self.fine_tunes, strict=True)):
            run(
                model,
                self.loader(stream, seed),
                self.loss,
                blocks=plan.blocks,
                design=_design_of(plan),
                model_clip=plan.model_clip,
                clean=clean,
                fine_tune=tuning,
                options=Options(simulate=derive(seed, "pipeline", number)),
            )
        return model

    def describe(self) -> dict[str, Any]:
        """Plain values: the plans by their hashes."""
        described = getattr(self.train, "describe", None)
        return {
            "train": described() if callable(described) else getattr(self.train, "__qualname__", str(self.train)),
            "plans": [plan.sha256 for plan in self.plans],
            "clean": [clean and clean.describe() for clean in self.cleans],
            "fine_tune": [tuning and tuning.describe() for tuning in self.fine_tunes],
        }


def _design_of(plan: Plan) -> Design:
    """The blocks that the earlier request had; those that this version makes of the same words may be others."""
    design = from_description(plan.design)
    if design.describe().get("layout") != plan.design.get("layout"):
        raise ConfigError(
            f"the earlier request was carried out in the blocks of {plan.design!r:.100}, which this version cannot "
            f"make: its own are {design.describe()!r:.100}. Calibrate with the version that carried it out, or retrain."
        )
    return design
