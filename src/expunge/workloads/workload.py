"""A workload: a data set, a model and a recipe that belong together. `open_workload` finds all three by name."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..errors import ConfigError
from . import download, features, heads, models
from .catalog import load
from .dataset import Dataset
from .evaluation import EvaluationBatches, accuracy
from .folders import data_folder
from .loader import Loader
from .loss import TrainingLoss
from .recipes import Recipe, recipe
from .stream import Stream
from .training import steps, train


class Slots(Protocol):
    """Any stream of the data set: all that counts is which samples stand in its slots."""

    index_map: Tensor


@dataclass(frozen=True, eq=False)
class Workload:
    """What calibration and unlearning ask for: `dataset`, `train(stream, seed)`, `loss(model, batch)`, `loader(stream)`."""

    recipe: Recipe
    dataset: Dataset
    weights: str | Path | None = None  # public ones to begin with
    device: str | torch.device = "cpu"

    def model(self, seed: int) -> nn.Module:
        """A fresh model."""
        if self.recipe.model == "linear_head":
            return heads.linear_head(self.dataset.inputs.shape[1], self.dataset.classes)
        if self.recipe.model == "mlp_head":
            return heads.mlp_head(self.dataset.inputs.shape[1], self.dataset.classes, seed=seed)
        options: dict[str, Any] = dict(self.recipe.options)
        if self.weights is not None and "pretrained" in options:
            options["pretrained"] = False  # the file takes the place of the download
        return models.build(self.recipe.model, seed=seed, weights=self.weights, **options)

    def stream(self, index_map: Tensor | None = None) -> Stream:
        """The data set, or the samples that an index map names."""
        return Stream(self.dataset, index_map)

    def train(self, stream: Slots, seed: int, **options: Any) -> nn.Module:
        """One run; `options` are those of `training.train`."""
        return train(self.model(seed), self._own(stream), self.recipe, seed=seed, device=self.device, **options)

    def trajectory(self, every: int) -> "Trajectory":
        """The same run as `train`, with a look at the model every so many steps and at the end."""
        return Trajectory(self, every)

    @property
    def loss(self) -> TrainingLoss:
        """The training loss, as a function of model and batch."""
        return TrainingLoss(self.recipe.l2)

    def loader(self, stream: Slots, seed: int = 0) -> Loader:
        """Batches as in training, for clean phases, noisy steps and fine-tuning; chance is torch's global generator."""
        return Loader(self._own(stream), self.recipe)

    def describe(self) -> dict[str, Any]:
        """Plain values, for the proximity file."""
        begin = None if self.weights is None else download.file_sha256(Path(self.weights))
        return {"recipe": self.recipe.describe(), "weights_sha256": begin}

    def batches(self, inputs: Tensor, labels: Tensor) -> EvaluationBatches:
        """Samples as the model sees them in evaluation."""
        mean, std = self.recipe.mean or self.dataset.mean, self.recipe.std or self.dataset.std
        return EvaluationBatches(inputs, labels, mean, std, self.recipe.augment)

    def accuracy(self, model: nn.Module, *, samples: int | None = None) -> float:
        """On the test part, or on its first `samples`."""
        return accuracy(
            model,
            self.dataset.test_inputs[:samples],
            self.dataset.test_labels[:samples],
            mean=self.recipe.mean or self.dataset.mean,
            std=self.recipe.std or self.dataset.std,
            augment=self.recipe.augment,
        )

    def _own(self, stream: Slots) -> Stream:
        return stream if isinstance(stream, Stream) else self.stream(stream.index_map)


@dataclass(frozen=True)
class Trajectory:
    """Training that gives (step, model, metrics) on the way, which calibration turns into a trajectory of the gap."""

    workload: Workload
    every: int

    def __post_init__(self) -> None:
        if isinstance(self.every, bool) or not isinstance(self.every, int) or self.every < 1:
            raise ConfigError(f"every must be a whole number of steps, at least 1; got {self.every!r}.")

    def __call__(self, stream: Slots, seed: int) -> Iterator[tuple[int, nn.Module, dict[str, float]]]:
        """One run. Test accuracy is on as many samples as the recipe says."""
        opened = self.workload
        for step in steps(opened.model(seed), opened._own(stream), opened.recipe, seed=seed, device=opened.device):
            if step.step % self.every == 0 or step.step == step.steps:
                found = opened.accuracy(step.model, samples=opened.recipe.test_samples)
                yield step.step, step.model, {"loss": step.loss, "test_accuracy": found}

    def describe(self) -> dict[str, Any]:
        """As the workload, and how often it was looked at."""
        return {**self.workload.describe(), "every": self.every}


def open_workload(
    name: str,
    *,
    scale: str = "laptop",
    data_dir: str | Path | None = None,
    allow_download: bool = False,
    weights: str | Path | None = None,
    backbone: str = "mobilenet_v2",
    device: str | torch.device = "cpu",
    progress: download.Meter = download.silent,
    feature_progress: features.Meter = features.silent,
    **changes: Any,
) -> Workload:
    """A workload of `recipes.RECIPES`, its data read, and its features computed where it is a head.

    weights     public weights: of the backbone (required for a head), or pretrained ones for a ViT
    changes     fields of the recipe to set otherwise: epochs=3, lr=0.01, …
    """
    chosen = replace(recipe(name, scale), **changes)
    dataset = load(chosen.dataset, data_dir, download=allow_download, progress=progress)
    if not chosen.model.endswith("_head"):
        return Workload(chosen, dataset, weights, device)
    if weights is None:
        raise ConfigError(
            f"{name} needs the public weights of {backbone}: give the file (--weights, torchvision's names)."
        )
    network = features.Backbone(backbone, weights)
    found = features.extract(network, dataset, cache=data_folder(data_dir) / "features", progress=feature_progress)
    return Workload(chosen, found, None, device)
