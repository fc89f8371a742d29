"""A workload: a data set, a model and a recipe that belong together. `open_workload` finds all three by name."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError
from . import download, features, heads, models
from .catalog import load
from .dataset import Dataset
from .evaluation import EvaluationBatches, accuracy
from .folders import data_folder
from .recipes import Recipe, recipe
from .stream import Stream
from .training import train


@dataclass(frozen=True, eq=False)
class Workload:
    """What a calibration needs: `dataset`, and `train(stream, seed)` on any stream of it."""

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

    def train(self, stream: Stream, seed: int, **options: Any) -> nn.Module:
        """One run; `options` are those of `training.train`."""
        return train(self.model(seed), stream, self.recipe, seed=seed, device=self.device, **options)

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
