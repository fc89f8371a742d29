"""Seconds to calibrate a few pairs against workers: processes of this machine.

Wall time, starting the workers included.
"""

import os
import time
import warnings
from tempfile import TemporaryDirectory

import torch
from torch import nn

import expunge
from expunge.workloads import RandomDeletion

COLUMNS = ["workers", "seconds", "one worker = 1"]


class Points(torch.utils.data.Dataset):
    """Three classes of random points."""

    def __len__(self) -> int:
        return 2000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.randn(64, generator=torch.Generator().manual_seed(index)), index % 3


def train(stream: torch.utils.data.Dataset, seed: int) -> nn.Module:
    """A small network, some seconds of work."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        for x, y in torch.utils.data.DataLoader(stream, 50):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model


def measure(*, pairs: int = 8) -> list[dict[str, object]]:
    """One process, then as many as there are processors."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ways: dict[str, dict] = {"1 process": {}, f"{processors} processes": {"workers": processors}}
    rows: list[dict[str, object]] = []
    for name, how in ways.items():
        started = time.monotonic()
        with warnings.catch_warnings(), TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            expunge.calibrate(train, Points(), RandomDeletion(0.1), pairs=pairs, folder=folder, **how)
        rows.append({"workers": name, "pairs": pairs, "seconds": time.monotonic() - started})
    for row in rows:
        row["ratio"] = row["seconds"] / rows[0]["seconds"]  # pyright: ignore[reportOperatorIssue]
    return rows


def table(rows: list[dict]) -> list[list[str]]:
    """For the page."""
    return [[row["workers"], f"{row['seconds']:.1f} s", f"{row['ratio']:.2f}"] for row in rows]
