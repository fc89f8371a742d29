"""Peak memory of a run against the model's size, in copies of its parameters, each model in a process of its own.

A copy is for the parameters themselves, one for their gradients (less where a block leaves layers alone: theirs are
let go at once), and a block's worth is 1/k of a copy. `peak` counts everything from before the model was built.
"""

import gc
import re
import time
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import expunge
from expunge.subspaces import from_description
from expunge.unlearning.noise import NoiseSource

K, TOKENS, WORDS = 4, 16, 10_000
DESIGNS = ("LayerCycle", "Permutation")
COLUMNS = ["parameters", "design", "peak, copies of the parameters", "beyond parameters and gradients", "time"]


class Config(NamedTuple):
    """A transformer's shape."""

    width: int
    layers: int


CONFIGS = {"1 M": Config(64, 6), "10 M": Config(256, 10), "100 M": Config(768, 13), "500 M": Config(1536, 17)}


class Transformer(nn.Module):
    """A language model of the usual shape, with tied embeddings."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, config.width)
        self.places = nn.Parameter(torch.zeros(TOKENS, config.width))
        layers = [
            nn.TransformerEncoderLayer(config.width, config.width // 64, 4 * config.width, 0.0, batch_first=True)
            for _ in range(config.layers)
        ]
        self.layers = nn.Sequential(*layers)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.layers(self.words(words) + self.places) @ self.words.weight.T


def loss(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """The next word."""
    return nn.functional.cross_entropy(model(batch)[:, :-1].flatten(0, 1), batch[:, 1:].flatten())


def measure(size: str, kind: str) -> dict[str, object]:
    """One run of k blocks, a step each."""
    torch.manual_seed(0)
    NoiseSource.certified().normal(2, step=0, tensor=0, like=torch.empty(0))  # libraries load what they need
    before = held()
    model = Transformer(CONFIGS[size])
    gc.collect()
    design = from_description({"kind": kind, "k": K})
    plan = expunge.plan(
        model, blocks=design, proximity=0.1, epsilon=30.0, delta=1e-5, clip=1.0, step_size=1e-3, weight_decay=1.0
    )
    count = sum(parameter.numel() for parameter in model.parameters())
    largest = max(parameter.numel() for parameter in model.parameters())
    peak(reset=True)
    started = time.process_time()
    expunge.unlearn(model, [torch.randint(0, WORDS, (2, TOKENS))], loss, plan, statistics_batches=1)
    found = {"seconds": time.process_time() - started, "peak": (peak() - before) / (4 * count)}
    return {"size": size, "design": kind, "k": K, "parameters": count, "largest": largest / count, **found}


def held() -> int:
    """Bytes that this process holds (Linux)."""
    return _status("VmRSS")


def peak(*, reset: bool = False) -> int:
    """The most that it ever held, counted from now where `reset`."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmHWM")


def _status(name: str) -> int:
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def run(sizes: list[str]) -> list[dict[str, object]]:
    """A fresh process for each: freed memory would blur the next row."""
    with get_context("spawn").Pool(1, maxtasksperchild=1) as process:
        return [process.apply(measure, (size, kind)) for size in sizes for kind in DESIGNS]


def table(rows: list[dict]) -> list[list[str]]:
    """For the page."""
    return [
        [
            f"{row['parameters'] / 1e6:.1f} M",
            f"`{row['design']}({row['k']})`",
            f"{row['peak']:.2f}",
            f"{max(0.0, row['peak'] - 2.0):.2f}",
            f"{row['seconds']:.0f} s",
        ]
        for row in rows
    ]
