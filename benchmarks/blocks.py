"""Seconds to plan and to verify against the number of blocks (a step each)."""

import time

from torch import nn

import expunge
from expunge import certificate as certificates
from expunge.accounting import Proximity

COLUMNS = ["blocks", "plan", "recompute a certificate's guarantee"]
PROXIMITY = Proximity(0.5, 0.1, "given")


def measure(*, blocks: tuple[int, ...] = (4, 64, 1024, 16_384)) -> list[dict[str, object]]:
    """Processor time, the best of three."""
    return [_row(count) for count in blocks]


def _row(count: int) -> dict[str, object]:
    model = nn.Linear(256, 256)
    plan, planned = _timed(
        lambda: expunge.plan(
            model, blocks=expunge.Permutation(count), proximity=PROXIMITY, epsilon=10.0, delta=1e-5, clip=1.0,
            step_size=1e-3, weight_decay=1.0,
        )
    )  # fmt: skip
    hops = [certificates.hops.hop(PROXIMITY, plan.blocks, 1)]
    _, verified = _timed(lambda: certificates.hops.guarantee(hops, delta=1e-5, accountant="gaussian"))
    return {"blocks": count, "plan_s": planned, "verify_s": verified}


def _timed(work):
    best, found = float("inf"), None
    for _ in range(3):
        started = time.process_time()
        found = work()
        best = min(best, time.process_time() - started)
    return found, best


def table(rows: list[dict]) -> list[list[str]]:
    """For the page."""
    return [[f"{row['blocks']:,}", f"{row['plan_s']:.3f} s", f"{row['verify_s']:.3f} s"] for row in rows]
