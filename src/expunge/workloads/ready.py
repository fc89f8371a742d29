"""Unlearning-ready training, in two stages: on what will never be recalled, then gently on what may be.

    first       the permanent samples, from the initialisation: weights that no request can reach, a public reference
    second      the revocable samples, from the reference: small steps that fall to 0, and the mean of the last weights

Only the second stage depends on what a request may remove, so only it is calibrated, and its coupled runs stay close.
"""

from collections.abc import Sized
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import weights
from ..errors import ConfigError
from .deletion import Deletion, RandomDeletion, index_sha256
from .first_stage import FirstStage, load_first_stage, refuse_permanent, save_first_stage
from .recipes import Recipe, ready_recipes
from .seeds import generator
from .stream import Stream
from .training import train
from .workload import Slots, Workload, open_workload


@dataclass(frozen=True)
class Revocable:
    """A deletion among the samples that are not permanent; a request that names a permanent one is refused."""

    deletion: Deletion
    permanent: Tensor

    def forget(self, dataset: Sized, seed: int) -> Tensor:
        """A random one is drawn from the revocable samples alone, and its fraction is one of them."""
        if isinstance(self.deletion, RandomDeletion):
            rest = others(self.permanent, len(dataset))
            return rest[self.deletion.forget(range(len(rest)), seed)]
        found = self.deletion.forget(dataset, seed)
        refuse_permanent(found, self.permanent)
        return found

    def describe(self) -> dict[str, Any]:
        """The deletion, and of what it is one."""
        about = {"count": len(self.permanent), "sha256": index_sha256(self.permanent)}
        return {**self.deletion.describe(), "permanent": about}


def others(indices: Tensor, size: int) -> Tensor:
    """All samples but these."""
    stays = torch.ones(size, dtype=torch.bool)
    stays[indices] = False
    return stays.nonzero().reshape(-1)


@dataclass(frozen=True, eq=False)
class Ready:
    """A workload in two stages: `reference(seed)` is the first; `train(stream, seed)`, the second, is what is calibrated."""

    workload: Workload  # with the second stage's recipe
    first: Recipe
    permanent: Tensor
    start: dict[str, Tensor] | None = None

    @cached_property
    def revocable(self) -> Tensor:
        """What a request may name."""
        return others(self.permanent, len(self.workload.dataset))

    def reference(self, seed: int, **options: Any) -> nn.Module:
        """The first stage; `options` are those of `training.train`."""
        opened = self.workload
        stream = opened.stream(self.permanent)
        return train(opened.model(seed), stream, self.first, seed=seed, device=opened.device, **options)

    def starting_from(self, state: dict[str, Tensor]) -> "Ready":
        """With the first stage's weights."""
        return replace(self, start=state)

    def train(self, stream: Slots, seed: int, **options: Any) -> nn.Module:
        """The second stage, on the slots of the revocable samples."""
        if self.start is None:
            raise ConfigError(
                "the second stage begins with the weights of the first. Give them: starting_from(weights)."
            )
        opened = self.workload
        model = opened.model(seed)
        model.load_state_dict(self.start)
        slots = Stream(opened.dataset, stream.index_map[self.revocable])
        return train(model, slots, opened.recipe, seed=seed, device=opened.device, **options)

    def stream(self, deletion: Deletion | None = None, seed: int = 0) -> Stream:
        """Every slot; those of a deletion show other samples, as in the calibration's pairs."""
        opened = self.workload
        if deletion is None:
            return opened.stream()
        forget = self.deletion(deletion).forget(opened.dataset, seed)
        stays, index_map = others(forget, len(opened.dataset)), torch.arange(len(opened.dataset))
        index_map[forget] = stays[torch.randint(len(stays), (len(forget),), generator=generator(seed, "slots"))]
        return opened.stream(index_map)

    def deletion(self, deletion: Deletion) -> Revocable:
        """The same, among revocable samples."""
        return Revocable(deletion, self.permanent)

    def describe(self) -> dict[str, Any]:
        """Plain values, for the proximity file."""
        return {
            **self.workload.describe(),
            "reference_sha256": None if self.start is None else weights.digest(self.start),
            "permanent_sha256": index_sha256(self.permanent),
        }

    def save_reference(self, model: nn.Module, path: Path, seed: int) -> FirstStage:
        """The weights, and their declaration beside them."""
        origin = f"{self.first.workload} ({self.first.scale}), first stage, seed {seed}, permanent samples alone"
        return save_first_stage(path, model.state_dict(), self.permanent, origin, self.workload.dataset.sha256)

    def load_reference(self, path: Path) -> "Ready":
        """With these weights, if they are declared for the permanent samples of this data set."""
        found = load_first_stage(path)
        found.refuse_other(index_sha256(self.permanent), self.workload.dataset.sha256)
        return self.starting_from(found.state)


def open_ready(
    name: str,
    permanent: Deletion | Path,
    *,
    scale: str = "laptop",
    seed: int = 0,
    first: dict[str, Any] | None = None,
    second: dict[str, Any] | None = None,
    **options: Any,
) -> Ready:
    """A workload of `recipes.READY`.

    permanent        selects samples as a deletion does, with `seed` where it is random; or the file of a reference, which
                     says what it saw, and with which the second stage can begin
    first, second    fields of the two recipes to set otherwise; `options` are those of `open_workload`
    """
    one, two = ready_recipes(name, scale)
    opened = replace(open_workload(name, scale=scale, **options), recipe=replace(two, **(second or {})))
    one = replace(one, **(first or {}))
    if isinstance(permanent, Path):
        return Ready(opened, one, load_first_stage(permanent).permanent).load_reference(permanent)
    return Ready(opened, one, permanent.forget(opened.dataset, seed))
