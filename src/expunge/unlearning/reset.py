"""Reset blocks at work: bases from a run on retained data, then x ← rest + P_keep(x − rest).

The run begins at the public reference, in the model's own place: the trained weights are put aside meanwhile, so nothing
that saw the removed data is near it.
"""

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor

from ..accounting.checks import COPY
from ..errors import ConfigError, CoverageError
from ..subspaces import KeepSpace, Partition
from ..subspaces.norms import norm
from .coverage import Inventory
from .loose import loose_tensors

Values = dict[str, Tensor]


class Reset:
    """A keep-space on a model: its reference, the weights put aside, and where the run ended."""

    def __init__(self, design: KeepSpace, inventory: Inventory, public: Sequence[str]) -> None:
        self.design, self._trainable = design, inventory.trainable
        self._refuse_memory(public)
        self.reference = {name: self._fitting(name, parameter) for name, parameter in self._trainable.items()}
        self.nearness = self._nearness()
        self.aside: Values | None = None
        self.end: Values | None = None

    @torch.no_grad()
    def begin(self) -> None:
        """The trained weights go aside; the model holds the reference."""
        self.aside = {name: parameter.detach().clone() for name, parameter in self._trainable.items()}
        self._load(self.reference)

    @torch.no_grad()
    def finish(self) -> None:
        """The run is over: remember where it ended, and put the trained weights back."""
        self.end = {name: parameter.detach().clone() for name, parameter in self._trainable.items()}
        self._load(self.aside or {})
        self.aside = None

    def partition(self) -> Partition:
        """The keep-space's blocks, now that the run is over."""
        end = self.end or self.reference
        updates = {name: end[name] - value for name, value in self.reference.items()}
        return self.design.bind({name: value.shape for name, value in self.reference.items()}, updates)

    @torch.no_grad()
    def reset(self, partition: Partition) -> None:
        """Keep what lies in the blocks, and overwrite all else."""
        for index, (name, parameter) in enumerate(self._trainable.items()):
            held = parameter.detach() - self._rest[name]
            parameter.copy_(self._rest[name])
            for piece in partition.pieces_of(index, parameter):
                piece.add_(parameter, piece.project(held))

    @torch.no_grad()
    def error(self, partition: Partition) -> float:
        """How far the model is from what it was reset to, outside the blocks, relative to its norm."""
        total, outside = 0.0, 0.0
        for index, (name, parameter) in enumerate(self._trainable.items()):
            total += norm(parameter.detach()).item() ** 2
            left = parameter.detach() - self._rest[name]
            for piece in partition.pieces_of(index, parameter):
                piece.add_(left, -piece.project(left))
            outside += norm(left).item() ** 2
        return math.sqrt(outside / total) if outside > 0.0 else 0.0

    def dump(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"aside": self.aside, "end": self.end}

    def restore(self, state: Mapping[str, Any]) -> None:
        """As `dump` gave it."""
        self.aside, self.end = (
            state[key] and {name: value.to(self.reference[name]) for name, value in state[key].items()}
            for key in ("aside", "end")
        )

    @property
    def _rest(self) -> Values:
        return self.end if self.design.rest == "run" and self.end is not None else self.reference

    def _load(self, values: Values) -> None:
        for name, value in values.items():
            self._trainable[name].copy_(value)

    def _refuse_memory(self, public: Sequence[str]) -> None:
        """A factory that carries tensors may carry the trained weights."""
        declared = any(fnmatchcase("reference", pattern) for pattern in public)
        if not declared and next(loose_tensors(self.design.reference.factory), None) is not None:
            raise CoverageError(
                "the reference's factory holds tensors (in a closure, a global, an attribute), which may be the trained "
                "weights. Make it build the model afresh, or, if they never saw the data, declare it: public=['reference']."
            )

    def _fitting(self, name: str, parameter: Tensor) -> Tensor:
        value = self.design.reference.parameters.get(name)
        if value is None or value.shape != parameter.shape:
            found = "nothing" if value is None else f"shape {tuple(value.shape)}"
            raise ConfigError(
                f"the reference has {found} where the model has {name!r} of shape {tuple(parameter.shape)}. It must be "
                "the same architecture."
            )
        return value.to(parameter, copy=True)

    def _nearness(self) -> float:
        """‖x̂‖ over its distance from the reference; refuses a reference that was made from x̂."""
        total, distance = 0.0, 0.0
        for name, value in self.reference.items():
            now = self._trainable[name].detach()
            total += norm(now).item() ** 2
            distance += norm(now - value).item() ** 2
            if torch.equal(now, value) and bool((value != value.reshape(-1)[:1]).any()):
                raise CoverageError(
                    f"the reference's {name!r} is the trained model's, number for number: it saw the removed data. Build "
                    "the reference afresh; what was never trained is to be frozen and declared public."
                )
        if math.sqrt(distance) <= COPY * math.sqrt(total):
            raise CoverageError(
                f"the reference is {math.sqrt(distance):.3g} from the trained weights, whose norm is "
                f"{math.sqrt(total):.3g}: it was made from them. Build it afresh, from a seed or a published file."
            )
        return math.sqrt(total / distance)
