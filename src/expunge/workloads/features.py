"""Features of a frozen public backbone, computed once and kept on disk: training a head is then a matter of seconds.

The backbone must be public: never trained on the data that may have to be forgotten. Its preprocessing is fixed. So a
sample's features depend on that sample alone, and removing a sample removes its features.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import weights as weight_files
from ..errors import ConfigError, DataError
from . import vision
from .augment import normalise, resize
from .dataset import Dataset
from .download import file_sha256

Meter = Callable[[int, int], None]  # images so far, images in all


def silent(_done: int, _size: int) -> None:
    """No progress at all."""


@dataclass(frozen=True)
class Backbone:
    """A model of torchvision or timm, a file with its public weights, and the preprocessing (ImageNet's, by default)."""

    name: str
    weights: str | Path
    library: str = "torchvision"
    image_size: int = 96
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    std: tuple[float, ...] = (0.229, 0.224, 0.225)

    def build(self) -> nn.Module:
        """The model with its weights, frozen, in evaluation mode."""
        state = weight_files.load(self.weights)
        model = self._empty()
        try:
            model.load_state_dict(state)
        except RuntimeError as error:
            raise DataError(f"{self.weights} does not fit {self.name}: {' '.join(str(error).split())[:200]}") from error
        return model.requires_grad_(False).eval()

    def prepare(self, images: Tensor) -> Tensor:
        """Bytes as the backbone wants to see them; one channel becomes three."""
        if images.dtype != torch.uint8 or images.dim() != 4:
            raise DataError(f"a backbone needs uint8 images (N × C × H × W); got {images.dtype} {tuple(images.shape)}.")
        images = images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images
        ready = normalise(images, [255 * m for m in self.mean], [255 * s for s in self.std])
        return resize(ready, self.image_size)

    def _empty(self) -> nn.Module:
        makers = {
            "torchvision": lambda: vision.torchvision().models.get_model(self.name, weights=None),
            "timm": lambda: vision.timm().create_model(self.name, pretrained=False),
        }
        if self.library not in makers:
            raise ConfigError(f"library must be torchvision or timm; got {self.library!r}.")
        try:
            return makers[self.library]()
        except (ValueError, RuntimeError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"{self.library} has no model {self.name!r} ({error}).") from error


def extract(
    backbone: Backbone, dataset: Dataset, *, cache: str | Path, batch_size: int = 128, progress: Meter = silent
) -> Dataset:
    """The data set with features in place of images: what enters the backbone's last linear layer.

    The cache's name is a hash of the weights file, the data and the preprocessing; another of any is another cache.
    """
    path = Path(cache) / f"features-{_key(backbone, dataset)[:32]}.safetensors"
    if path.exists():
        return _dataset(backbone, dataset, _kept(path))
    model = backbone.build()
    total = len(dataset.inputs) + len(dataset.test_inputs)
    train = _run(backbone, model, dataset.inputs, batch_size, lambda done: progress(done, total))
    test = _run(backbone, model, dataset.test_inputs, batch_size, lambda done: progress(len(train) + done, total))
    path.parent.mkdir(parents=True, exist_ok=True)
    weight_files.save({"inputs": train, "test_inputs": test}, path)
    return _dataset(backbone, dataset, {"inputs": train, "test_inputs": test})


def _key(backbone: Backbone, dataset: Dataset) -> str:
    """The file's bytes stand for the weights, so that a cache is found without building the backbone."""
    settings: dict[str, Any] = {name: value for name, value in asdict(backbone).items() if name != "weights"}
    settings |= {"weights": file_sha256(Path(backbone.weights)), "data": dataset.sha256}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _kept(path: Path) -> dict[str, Tensor]:
    again = "Delete it, and they are computed again."
    try:
        found = weight_files.load(path)
    except DataError as error:
        raise DataError(f"the kept features cannot be read: {error} {again}") from error
    if found.keys() != {"inputs", "test_inputs"}:
        raise DataError(f"{path} is no cache of features. {again}")
    return found


def _run(backbone: Backbone, model: nn.Module, images: Tensor, batch_size: int, tell: Callable[[int], None]) -> Tensor:
    seen: list[Tensor] = []
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if not linear:
        raise ConfigError(f"{backbone.name} has no linear layer whose input could be the features.")
    model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] (torch documents it)
    hook = linear[-1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].flatten(1)))
    try:
        with torch.inference_mode():
            for start in range(0, len(images), batch_size):
                batch = backbone.prepare(images[start : start + batch_size])
                model(batch.contiguous(memory_format=torch.channels_last))
                tell(min(start + batch_size, len(images)))
    finally:
        hook.remove()
    return torch.cat(seen).clone()


def _dataset(backbone: Backbone, dataset: Dataset, found: dict[str, Tensor]) -> Dataset:
    name = f"{dataset.name}+{backbone.name}"
    return replace(
        dataset, name=name, inputs=found["inputs"], test_inputs=found["test_inputs"], mean=(0.0,), std=(1.0,)
    )
