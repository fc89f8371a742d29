"""Deletion requests on a CIFAR-10 head, measured: a bound that needs no pairs, ten calibrated pairs, and a stream of twenty.

    python benchmarks/head_requests.py --data-dir data --weights mobilenet_v2-b0353104.pth --output requests.json

The features must be in the cache (`expunge train --workload cifar10-head` computes them), or torchvision must be there.
Cost is counted in evaluations of the loss and its gradient over all retained samples; processor time beside it. What
is finished is written at once. Deletions of the requests come from other seeds than those of the pairs.
"""

import argparse
import copy
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import expunge
from expunge import unlearning
from expunge.requests import Head, Ledger
from expunge.unlearning import FineTune
from expunge.workloads import Dataset, load, open_workload
from expunge.workloads.loss import TrainingLoss

SIZES = (1, 100, 5000)
CALIBRATED = ((0, 0), (0, 2), (8, 2))  # for each size: clean iterations, mending iterations
DELTA = 1e-5


class Counted(TrainingLoss):
    """The loss, counting its evaluations."""

    calls = 0

    def __call__(self, model: torch.nn.Module, batch: Any) -> torch.Tensor:
        Counted.calls += 1
        return super().__call__(model, batch)


class CountedHead(Head):
    """A head whose loss counts."""

    @property
    def loss(self) -> TrainingLoss:
        return Counted(self.l2)


def log(*words: object) -> None:
    """Progress, apart from the answer."""
    print(time.strftime("%T"), *words, file=sys.stderr, flush=True)


def cost(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What work gives, and what it took."""
    calls, started = Counted.calls, time.process_time()
    found = work()
    return found, {"evaluations": Counted.calls - calls, "seconds": round(time.process_time() - started, 2)}


def opened(data_dir: str | None, weights: str | None) -> Dataset:
    """Features of CIFAR-10, or the digits' pixels."""
    if data_dir is not None:
        return open_workload("cifar10-head", data_dir=data_dir, weights=weights).dataset
    digits = load("digits")
    flat = {name: getattr(digits, name).flatten(1).float() for name in ("inputs", "test_inputs")}
    return replace(digits, **flat, mean=(0.0,), std=(1.0,))


class Bench:
    """The head, its test part, and what was measured."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.data, self.chosen = opened(chosen.data_dir, chosen.weights), chosen
        self.head = CountedHead(
            self.data.inputs, self.data.labels, 10, l2=chosen.l2, gradient=chosen.gradient, length=10.0
        )
        unit = torch.nn.functional.normalize(self.data.test_inputs.double(), dim=1) * 10.0
        self.test = {torch.float64: unit, torch.float32: unit.float()}

    def accuracy(self, model: torch.nn.Module) -> float:
        """In percent."""
        with torch.inference_mode():
            guess = model(self.test[next(model.parameters()).dtype]).argmax(1)
        return round(100 * (guess == self.data.test_labels).double().mean().item(), 2)

    def drawn(self, size: int, seed: int) -> list[int]:
        """A request."""
        return expunge.RandomDeletion(size).forget(self.data, 1000 + seed).tolist()

    def base(self) -> dict[str, Any]:
        """Training on everything."""
        self.model, spent = cost(self.head.train)
        return {"accuracy": self.accuracy(self.model), **spent, "gap": self.head.proximity.gap}

    def anchored(self, size: int, seed: int) -> dict[str, Any]:
        """One request by the bound, and retraining to the same gradient norm."""
        new, model = self.drawn(size, seed), copy.deepcopy(self.model)
        with tempfile.TemporaryDirectory() as folder:
            ledger = Ledger.begin(folder, model, epsilon=self.chosen.epsilon, delta=DELTA)
            done, spent = cost(lambda: self.head.carry_out(ledger, model, new, mend=self.chosen.mend))
            Ledger.load(folder)
        exact, again = cost(lambda: self.head.train(new))
        row = {"size": size, "seed": seed, "accuracy": self.accuracy(model), "retrained": self.accuracy(exact)}
        row |= {
            "cost": spent,
            "retraining": again,
            "epsilon": done.certificate.epsilon,
            "kind": done.certificate["kind"],
        }
        log(row)
        return row

    def calibrated(self, size: int, clean: int, mend: int) -> dict[str, Any]:
        """Ten pairs in single precision, and requests on the proximity that they support."""
        phase = FineTune(clean, "lbfgs", lr=1.0) if clean else None
        settings: dict[str, Any] = {"clean": phase, "loss": self.head.loss, "loader": self._batch} if clean else {}
        found, spent = cost(
            lambda: expunge.calibrate(
                self._train, self.data, expunge.RandomDeletion(size), pairs=self.chosen.pairs, **settings
            )
        )
        row: dict[str, Any] = {"size": size, "clean": clean, "mend": mend, "gaps": found.gaps, "calibration": spent}
        row |= {"gap": found.proximity.gap, "failure": found.proximity.failure, "requests": []}
        base = self._train(expunge.calibration.base_stream(self.data), 0)
        for seed in range(self.chosen.seeds):
            row["requests"].append(self._request(base, found, self.drawn(size, seed), phase, mend))
            log(size, clean, mend, row["gap"], row["requests"][-1])
        return row

    def _request(self, base: Any, found: Any, new: list[int], phase: FineTune | None, mend: int) -> dict[str, Any]:
        model, kept = copy.deepcopy(base), torch.ones(len(self.data), dtype=torch.bool)
        kept[new] = False
        stream = expunge.calibration.Stream(self.data, kept.nonzero().reshape(-1))
        still = {"clip": 0.0, "step_size": 0.0}
        plan = expunge.plan(
            model, blocks=expunge.Whole(), proximity=found, epsilon=self.chosen.epsilon, delta=DELTA, **still
        )
        tuning = FineTune(mend, "lbfgs", lr=1.0) if mend else None
        done, spent = cost(
            lambda: expunge.unlearn(model, self._batch(stream, 0), self.head.loss, plan, clean=phase, fine_tune=tuning)
        )
        expunge.verify(done.certificate, model)
        exact, again = cost(lambda: self._train(stream, 0))
        return {"before": self.accuracy(base), "accuracy": self.accuracy(model), "retrained": self.accuracy(exact),
                "cost": spent, "retraining": again}  # fmt: skip

    def _batch(self, stream: Any, seed: int) -> list[Any]:
        inputs = torch.nn.functional.normalize(self.data.inputs[stream.index_map], dim=1) * 10.0
        return [(inputs, self.data.labels[stream.index_map])]

    def _train(self, stream: Any, seed: int) -> torch.nn.Module:
        """60 iterations of L-BFGS from zero."""
        model = self.head.model().float()
        unlearning.train_clean(model, self._batch(stream, seed), self.head.loss, FineTune(60, "lbfgs", lr=1.0), seed=0)
        return model

    def stream(self, count: int) -> list[dict[str, Any]]:
        """So many requests one after another, each of 1 to 100 samples that are still there."""
        rows: list[dict[str, Any]] = []
        random = torch.Generator().manual_seed(7)
        order = torch.randperm(len(self.data), generator=random).tolist()
        model = copy.deepcopy(self.model)
        with tempfile.TemporaryDirectory() as folder:
            ledger = Ledger.begin(folder, model, epsilon=self.chosen.epsilon, delta=DELTA)
            for _ in range(count):
                size = int(torch.randint(1, 101, (1,), generator=random))
                new, order = order[:size], order[size:]
                done, spent = cost(partial(self.head.carry_out, ledger, model, new, mend=self.chosen.mend))
                rows.append({"size": size, "accuracy": self.accuracy(model), "cost": spent, "epsilon": ledger.spent_epsilon,
                             "entry_gradient": done.record.entry_gradient, "seconds": done.record.seconds})  # fmt: skip
                log(rows[-1])
            Ledger.load(folder)
            exact, again = cost(lambda: self.head.train(ledger.forgotten))
        return [*rows, {"retrained": self.accuracy(exact), "cost": again}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--data-dir", "--weights"):
        parser.add_argument(name)
    for name, value in (("l2", 3e-3), ("gradient", 2e-5), ("epsilon", 1.0)):
        parser.add_argument(f"--{name}", type=float, default=value)
    for name, value in (("pairs", 10), ("seeds", 1), ("mend", 5), ("stream", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--parts", nargs="+", default=["calibrated", "anchored", "stream"])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    bench = Bench(chosen)
    about = {name: value for name, value in vars(chosen).items() if name not in ("data_dir", "weights", "output")}
    found: dict[str, Any] = {"settings": about}
    if {"anchored", "stream"} & set(chosen.parts):
        found["base"] = bench.base()
        log(found["base"])
    parts: dict[str, Callable[[], Any]] = {
        "anchored": lambda: [bench.anchored(size, seed) for size in chosen.sizes for seed in range(chosen.seeds)],
        "calibrated": lambda: [
            bench.calibrated(size, *each) for size, each in zip(chosen.sizes, CALIBRATED, strict=True)
        ],
        "stream": lambda: bench.stream(chosen.stream),
    }
    for name in chosen.parts:
        found[name] = parts[name]()
        chosen.output.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
