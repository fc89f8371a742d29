"""Augmentation of a whole batch at once, on the batch's device: crop, flip, resize, normalise.

The random numbers come from a generator on the CPU, so that the same seed gives the same pictures on every device. How many
are drawn depends on the batch's size alone: two coupled runs crop and flip alike, whatever their samples show.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn import functional

from ..errors import ConfigError


@dataclass(frozen=True)
class Augment:
    """What happens to a batch of images before the model sees it. `crop` is the padding of the random crop; 0: none."""

    crop: int = 0
    flip: bool = False
    resize: int | None = None

    def __post_init__(self) -> None:
        if self.crop < 0 or (self.resize is not None and self.resize < 1):
            raise ConfigError(f"crop must be 0 or more and resize 1 or more; got {self.crop} and {self.resize}.")

    @property
    def chance(self) -> bool:
        """Whether training pictures differ from time to time."""
        return self.crop > 0 or self.flip

    def training(self, images: Tensor, generator: Generator, mean: Sequence[float], std: Sequence[float]) -> Tensor:
        """With chance: crop and flip as the generator says."""
        if self.crop:
            images = random_crop(images, generator, padding=self.crop)
        if self.flip:
            images = random_flip(images, generator)
        return self.evaluation(images, mean, std)

    def evaluation(self, images: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
        """Without chance: normalised, and resized where the model asks for it."""
        images = normalise(images, mean, std)
        return images if self.resize is None else resize(images, self.resize)


PLAIN = Augment()


def random_crop(images: Tensor, generator: Generator, *, padding: int) -> Tensor:
    """Each image padded with zeros on all sides, and cut out again at a place of its own."""
    count, _, height, width = images.shape
    top, left = torch.randint(2 * padding + 1, (2, count), generator=generator).to(images.device)
    rows = top[:, None] + torch.arange(height, device=images.device)
    columns = left[:, None] + torch.arange(width, device=images.device)
    padded = functional.pad(images, (padding,) * 4)
    which = torch.arange(count, device=images.device)
    chosen = padded[which[:, None, None], :, rows[:, :, None], columns[:, None, :]]  # N × H × W × C
    return chosen.permute(0, 3, 1, 2)


def random_flip(images: Tensor, generator: Generator) -> Tensor:
    """Each image mirrored left to right with probability one half."""
    heads = torch.randint(2, (len(images),), generator=generator).to(images.device, torch.bool)
    return torch.where(heads[:, None, None, None], images.flip(-1), images)


def normalise(inputs: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """(x − mean) / std in float32, per channel where there are several."""
    if not any(mean) and set(std) == {1.0}:
        return inputs.float()  # no copy of features, which are large
    shape = (-1, *(1,) * (inputs.dim() - 2)) if len(mean) > 1 else ()
    centre, scale = (torch.tensor(values, device=inputs.device).reshape(shape) for values in (mean, std))
    return (inputs.float() - centre) / scale


def resize(images: Tensor, size: int) -> Tensor:
    """To size × size, bilinear (with antialiasing, which matters only where the image shrinks)."""
    return functional.interpolate(images, (size, size), mode="bilinear", align_corners=False, antialias=True)
