"""What a noisy block step costs, as a multiple of a plain SGD step on the same batch in the same process.

    python benchmarks/step_cost.py [--models mlp resnet18] [--blocks 2 4 10 32] [--repeats 15] > step_cost.json

Two ratios per design and k: `step` is one step inside a block, `entry` what entering a block adds once (indices or bases
gathered, coordinates read). Set-up is the design's one-time binding. Memory is what the design and an active block hold
beyond model and gradients, in copies of the parameters. Times are medians; plain and noisy steps are interleaved.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from itertools import pairwise

import torch
from torch import nn

from expunge.accounting import Step
from expunge.subspaces import DESIGNS, Design
from expunge.unlearning.noise import NoiseSource
from expunge.unlearning.step import ActiveBlock

STEP = Step(step_size=1e-3, weight_decay=1.0, clip=1.0, sigma=1e-3)


def mlp() -> tuple[nn.Module, torch.Tensor]:
    """The paper's MNIST network, 4,364,554 parameters."""
    sizes = (784, 2048, 1024, 512, 256, 10)
    layers = [layer for n, m in pairwise(sizes) for layer in (nn.Linear(n, m), nn.ReLU())]
    return nn.Sequential(*layers[:-1]), torch.randn(64, 784)


class Residual(nn.Module):
    """Two 3 × 3 convolutions and a shortcut."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width_in, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        plain = stride == 1 and width_in == width
        self.shortcut = (
            nn.Identity()
            if plain
            else nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18() -> tuple[nn.Module, torch.Tensor]:
    """ResNet-18 for 32 × 32 images (3 × 3 stem, no max-pool), 11.17 M parameters."""
    widths = [
        (64, 64, 1),
        (64, 64, 1),
        (64, 128, 2),
        (128, 128, 1),
        (128, 256, 2),
        (256, 256, 1),
        (256, 512, 2),
        (512, 512, 1),
    ]
    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    body = [Residual(*shape) for shape in widths]
    return nn.Sequential(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)), torch.randn(
        64, 3, 32, 32
    )


MODELS = {"mlp": mlp, "resnet18": resnet18}


def designs(blocks: list[int]) -> list[Design]:
    """Every design, at every k that it takes."""
    named = [
        DESIGNS[name](k) for name in ("Permutation", "FastRotation", "RandomRotation", "LayerCycle") for k in blocks
    ]
    return [DESIGNS["Whole"](), *named]


def measure(model: nn.Module, inputs: torch.Tensor, design: Design, repeats: int) -> dict[str, float]:
    """The costs of one design on one model."""
    parameters = list(model.parameters())
    labels = torch.randint(0, 10, (len(inputs),))
    optimizer = torch.optim.SGD(parameters, lr=1e-3)

    def backward() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()

    started = time.perf_counter()
    partition = design.bind({name: p.shape for name, p in model.named_parameters()})
    setup = time.perf_counter() - started
    noise, count = NoiseSource.certified(), len(partition.dimensions)
    plain, noisy, entry = [], [], []
    for repeat in range(repeats + 2):  # the first two warm up
        started = time.perf_counter()
        backward()
        optimizer.step()
        middle = time.perf_counter()
        active = ActiveBlock(parameters, partition.parts(repeat % count, parameters), decays=True)
        entered = time.perf_counter()
        backward()
        active.move(STEP, active.read_gradients(STEP), noise, repeat)
        ended = time.perf_counter()
        if repeat >= 2:
            plain.append(middle - started)
            entry.append(entered - middle)
            noisy.append(ended - entered)
    base = statistics.median(plain)
    return {
        "plain_ms": 1e3 * base,
        "step": statistics.median(noisy) / base,
        "entry": statistics.median(entry) / base,
        "setup_s": setup,
    }


def generator_speed() -> dict[str, float]:
    """Nanoseconds per normal: ours, and torch's own."""
    size, like = 2_000_000, torch.empty(0)
    source = NoiseSource.certified()

    def nanoseconds(draw) -> float:
        times = []
        for _ in range(7):
            started = time.perf_counter()
            draw()
            times.append(time.perf_counter() - started)
        return 1e9 * statistics.median(times) / size

    ours = nanoseconds(lambda: source.normal(size, step=0, tensor=0, like=like))
    plain = nanoseconds(lambda: torch.randn(size))
    return {"certified_ns": ours, "torch_randn_ns": plain, "ratio": ours / plain}


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--blocks", nargs="+", type=int, default=[2, 4, 10, 32])
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rows = []
    for name in arguments.models:
        model, inputs = MODELS[name]()
        for design in designs(arguments.blocks):
            row = {"model": name, **design.describe(), **measure(model, inputs, design, arguments.repeats)}
            print({key: round(v, 3) if isinstance(v, float) else v for key, v in row.items()}, file=sys.stderr)
            rows.append(row)
    machine = {"processor": platform.processor() or platform.machine(), "threads": torch.get_num_threads()}
    json.dump(
        {"machine": machine, "torch": torch.__version__, "noise": generator_speed(), "rows": rows}, sys.stdout, indent=1
    )


if __name__ == "__main__":
    main()
