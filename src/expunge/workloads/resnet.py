"""Small residual networks for 32 × 32 images (He et al. 2016, section 4.2): three stages of 16, 32 and 64 channels.

Where a block halves the image, its shortcut is a 1 × 1 convolution. Images run through it channels last, which a CPU
convolves faster; weights, checkpoints and hashes do not see it.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """Two 3 × 3 convolutions and a shortcut around them."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Sequential()
        if stride > 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, inputs: Tensor) -> Tensor:
        """Half the size where the stride is 2."""
        hidden = functional.relu(self.bn1(self.conv1(inputs)))
        return functional.relu(self.bn2(self.conv2(hidden)) + self.shortcut(inputs))


class ResNet(nn.Module):
    """A stem, three stages of `depth` blocks, the mean over the image, and a linear layer."""

    def __init__(self, depth: int, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        widths = [16] * depth + [32] * depth + [64] * depth
        self.blocks = nn.Sequential(*(Block(b, w, w // b) for b, w in zip([16, *widths], widths, strict=False)))
        self.fc = nn.Linear(64, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of the classes."""
        hidden = self.stem(inputs.contiguous(memory_format=torch.channels_last))
        return self.fc(self.blocks(hidden).mean((2, 3)))


def resnet8() -> nn.Module:
    """One block a stage: 78,042 parameters."""
    return ResNet(1)


def resnet20() -> nn.Module:
    """Three blocks a stage: 272,474 parameters."""
    return ResNet(3)
