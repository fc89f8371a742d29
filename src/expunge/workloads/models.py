"""The paper's models and two small ones, by name. Each is built from a seed, and leaves the global generator alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .. import weights as weight_files
from ..errors import ConfigError, DataError
from . import vision
from .resnet import resnet8, resnet20
from .seeds import derive


class Mlp(nn.Module):
    """Linear layers fc1 … fcn with ReLU between them (the paper's LinearNet, for any sizes)."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.depth = len(sizes) - 1
        for i in range(self.depth):
            self.add_module(f"fc{i + 1}", nn.Linear(sizes[i], sizes[i + 1]))

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of the classes."""
        hidden = inputs.flatten(1)
        for i in range(1, self.depth):
            hidden = functional.relu(self.get_submodule(f"fc{i}")(hidden))
        return self.get_submodule(f"fc{self.depth}")(hidden)


def mlp() -> nn.Module:
    """The paper's MNIST model: 4,364,554 parameters (Appendix, listing "Architecture of the model used for MNIST")."""
    return Mlp(784, 2048, 1024, 512, 256, 10)


def digits_mlp() -> nn.Module:
    """A small one for 8 × 8 images: 26,122 parameters."""
    return Mlp(64, 128, 128, 10)


def resnet18() -> nn.Module:
    """ResNet-18 for 32 × 32 images: a 3 × 3 stem without max-pooling; 11,173,962 parameters, torchvision's key names."""
    model = vision.torchvision().models.resnet18(num_classes=10)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")  # as torchvision does
    model.maxpool = nn.Identity()
    return model


def vit_tiny(*, image_size: int = 224, pretrained: bool = False) -> nn.Module:
    """ViT-Tiny with patches of 16: 5,526,346 parameters at 224. `pretrained` downloads timm's weights from the hub."""
    timm = vision.timm()
    try:
        return timm.create_model("vit_tiny_patch16_224", pretrained=pretrained, num_classes=10, img_size=image_size)
    except Exception as error:
        if not pretrained:
            raise
        raise DataError(
            f"timm cannot get the pretrained weights of vit_tiny_patch16_224 ({type(error).__name__}: {error}). "
            "Give a local file of them with --weights."
        ) from error


MODELS: dict[str, Callable[..., nn.Module]] = {
    "mlp": mlp,
    "digits_mlp": digits_mlp,
    "resnet18": resnet18,
    "resnet8": resnet8,
    "resnet20": resnet20,
    "vit_tiny": vit_tiny,
}


def build(name: str, *, seed: int, weights: str | Path | None = None, **options: Any) -> nn.Module:
    """A fresh model, initialised from `seed`. `weights` is a file of public pretrained weights to begin with."""
    if name not in MODELS:
        raise ConfigError(f"the model must be one of {', '.join(MODELS)}; got {name!r}.")
    with torch.random.fork_rng():
        torch.manual_seed(derive(seed, "initialisation"))
        model = MODELS[name](**options)
        if weights is not None:
            _begin_with(model, weight_files.load(weights), weights)
    return model


def _begin_with(model: nn.Module, state: dict[str, Tensor], path: str | Path) -> None:
    """Everything but the classifier, which has other classes and stays as it was initialised."""
    own = model.state_dict()
    fitting = {name: value for name, value in state.items() if name in own and own[name].shape == value.shape}
    unfit = sorted(name for name in own if name not in fitting and name.rsplit(".", 1)[0] not in _classifiers(model))
    if unfit:
        raise DataError(
            f"{path} does not fit the model: {len(unfit)} tensors are missing or of another shape, such as {unfit[0]}. Give "
            "the weights of this architecture."
        )
    model.load_state_dict(fitting, strict=False)


def _classifiers(model: nn.Module) -> set[str]:
    """The name of the last linear layer."""
    linear = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    return set(linear[-1:])
