"""Seconds to calibrate a few pairs against workers: processes of this machine, and a Ray cluster of this machine alone.

Wall time. Starting processes is in it; the cluster is there before, as a user's would be.
"""

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
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
    for _ in range(60):
        for x, y in torch.utils.data.DataLoader(stream, 50):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model


@contextmanager
def cluster(processors: int) -> Iterator[str]:
    """A Ray cluster of this machine; its workers find this file."""
    import ray

    root = str(Path(__file__).parents[1])
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    ray.init(num_cpus=processors, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": paths})
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()


def measure(*, pairs: int = 8, ray: bool = True) -> list[dict[str, object]]:
    """One process, as many as there are processors, and Ray with as many, where it is installed."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    rows: list[dict[str, object]] = []

    def timed(name: str, **how: object) -> None:
        with TemporaryDirectory() as folder:
            started = time.monotonic()
            expunge.calibrate(train, Points(), RandomDeletion(0.1), pairs=pairs, folder=folder, **how)
            rows.append({"workers": name, "pairs": pairs, "seconds": time.monotonic() - started})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        timed("1 process")
        timed(f"{processors} processes", workers=processors)
        if ray and find_spec("ray"):
            with cluster(processors) as address:
                timed(f"Ray, {processors} processors", ray=address)
    for row in rows:
        row["ratio"] = row["seconds"] / rows[0]["seconds"]  # pyright: ignore[reportOperatorIssue]
    return rows


def table(rows: list[dict]) -> list[list[str]]:
    """For the page."""
    return [[row["workers"], f"{row['seconds']:.1f} s", f"{row['ratio']:.2f}"] for row in rows]
