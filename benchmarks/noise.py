"""Normals a second, from the certified and the simulation generator, beside `torch.randn`; processor time, taking turns."""

import statistics
import time

import torch

from expunge.unlearning.noise import NoiseSource

COLUMNS = ["generator", "normals a second", "cost, torch.randn = 1"]


def measure(*, size: int = 2_000_000, repeats: int = 15) -> list[dict[str, object]]:
    """A row for each generator."""
    like, certified, simulated = torch.empty(0), NoiseSource.certified(), NoiseSource.simulation(0)
    draws = {
        "torch.randn": lambda: torch.randn(size),
        "certified": lambda: certified.normal(size, step=0, tensor=0, like=like),
        "simulation": lambda: simulated.normal(size, step=0, tensor=0, like=like),
    }
    times: dict[str, list[float]] = {name: [] for name in draws}
    for _ in range(repeats):
        for name, draw in draws.items():
            started = time.process_time()
            draw()
            times[name].append(time.process_time() - started)
    seconds = {name: statistics.median(found) for name, found in times.items()}
    plain = seconds["torch.randn"]
    return [{"generator": name, "per_second": size / spent, "ratio": spent / plain} for name, spent in seconds.items()]


def table(rows: list[dict]) -> list[list[str]]:
    """For the page."""
    return [[row["generator"], f"{row['per_second'] / 1e6:.0f} M", f"{row['ratio']:.2f}"] for row in rows]
