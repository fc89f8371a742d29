"""How close a lower bound on ε from repeated runs comes to the accountant: `python benchmarks/epsilon_lower_bound.py`.

A model of one parameter runs through the engine itself, from +Δ/2 and from −Δ/2, each time with a new seed of the simulated
noise. The gradient pushes the two apart at full clip, which is the worst that data can do. `--drawn` draws the same runs at
once with NumPy (tests/audit compares the two), so that far more of them can be judged.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import torch
from torch import nn

from expunge import Whole, audit, planning, unlearning
from expunge import accounting as acc

GAP = 0.5
SCHEDULE = {"clip": 0.7, "step_size": 0.1, "weight_decay": 2.0, "steps": 2}
SETTINGS = ((1.0, 1e-5), (1.0, 0.01), (4.0, 1e-5))


class Scalar(nn.Module):
    def __init__(self, sign):
        super().__init__()
        self.value, self.sign = nn.Parameter(torch.tensor([sign * GAP / 2])), sign


def push(model, _):
    return -model.sign * 1e6 * model.value.sum()


def engine(blocks, sign, seeds):
    """Where the runs of these seeds end."""
    torch.set_num_threads(1)
    ends = []
    for seed in seeds:
        model = Scalar(sign)
        unlearning.run(
            model, [None], push, blocks=blocks, design=Whole(), options=unlearning.Options(simulate=int(seed))
        )
        ends.append(model.value.item())
    return ends


def engine_scores(blocks, runs, workers):
    """Unlearned and reference runs; no two share a seed."""
    with ProcessPoolExecutor(workers) as pool:
        return [
            np.concatenate(list(pool.map(partial(engine, blocks, sign), np.array_split(first + np.arange(runs), 50))))
            for sign, first in ((1, 0), (-1, runs))
        ]


def judge(epsilon, delta, arguments):
    blocks = planning.make(
        [1], epsilon=epsilon, delta=delta, proximity=acc.Proximity(GAP, 0.0, "given"), **SCHEDULE
    ).blocks
    started = time.monotonic()
    if arguments.drawn:
        scores = audit.worst_case(blocks, [GAP], runs=arguments.runs, seed=arguments.seed)
    else:
        scores = engine_scores(blocks, arguments.runs, arguments.workers)
    spent, mu = time.monotonic() - started, acc.mu(GAP, blocks)
    audit.refuse_violation(*scores, epsilon=epsilon, delta=delta, mu=mu)
    found = audit.lower_bound(*scores, delta=delta)
    print(
        f"{epsilon:7g} {delta:8g} {mu:8.4f} {found.mu:8.4f} {found.epsilon_if_gaussian:9.3f} "
        f"({found.epsilon_if_gaussian / epsilon:4.0%}) {found.epsilon:9.3f} ({found.epsilon / epsilon:4.0%}) {spent:8.1f} s",
        flush=True,
    )


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=40_000, help="of each kind")
    options.add_argument("--epsilon", type=float, help="only this one, with --delta")
    options.add_argument("--delta", type=float, default=1e-5)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--drawn", action="store_true", help="draw the runs with NumPy")
    options.add_argument("--seed", type=int, default=0, help="of the drawn runs")
    arguments = options.parse_args()
    print(f"2 x {arguments.runs:,} runs, {'drawn' if arguments.drawn else 'through the engine'}, confidence 95 %")
    print("epsilon    delta       mu   proved   epsilon if Gaussian   without assumption     time")
    for epsilon, delta in SETTINGS if arguments.epsilon is None else ((arguments.epsilon, arguments.delta),):
        judge(epsilon, delta, arguments)


if __name__ == "__main__":
    main()
