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
CALIBRATED = ((4, 2), (6, 2), (12, 5))  # for each size: clean iterations, mending iterations; chosen on other samples
TRAINING = FineTune(100, "lbfgs", lr=1.0)  # as the recipe of cifar10-head has
WHITEN = 2000
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


def lbfgs(count: int) -> FineTune | None:
    """So many iterations."""
    return FineTune(count, "lbfgs", lr=1.0, whiten=WHITEN) if count else None


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
        self.test = torch.nn.functional.normalize(self.data.test_inputs.double(), dim=1) * 10.0
        self.kept: dict[str, torch.nn.Module] = {}

    def accuracy(self, model: torch.nn.Module) -> float:
        """In percent."""
        with torch.inference_mode():
            guess = model(self.test).argmax(1)
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
        """Ten pairs, and requests on the proximity that they support."""
        phase = lbfgs(clean)
        found, spent = cost(
            lambda: expunge.calibrate(
                self._train, self.data, expunge.RandomDeletion(size), pairs=self.chosen.pairs, clean=phase,
                loss=self.head.loss, loader=self._batch,
            )
        )  # fmt: skip
        row: dict[str, Any] = {"size": size, "clean": clean, "mend": mend, "gaps": found.gaps, "calibration": spent}
        row |= {"gap": found.proximity.gap, "failure": found.proximity.failure, "requests": []}
        for seed in range(self.chosen.seeds):
            row["requests"].append(self._request(found, self.drawn(size, seed), phase, mend))
            log(size, clean, mend, row["gap"], row["requests"][-1])
        return row

    def _request(self, found: Any, new: list[int], phase: FineTune | None, mend: int) -> dict[str, Any]:
        model = copy.deepcopy(self._train(expunge.calibration.base_stream(self.data), 0))
        before, kept = self.accuracy(model), torch.ones(len(self.data), dtype=torch.bool)
        kept[new] = False
        stream = expunge.calibration.Stream(self.data, kept.nonzero().reshape(-1))
        still = {"clip": 0.0, "step_size": 0.0}
        plan = expunge.plan(
            model, blocks=expunge.Whole(), proximity=found, epsilon=self.chosen.epsilon, delta=DELTA, **still
        )
        done, spent = cost(
            lambda: expunge.unlearn(
                model, self._batch(stream, 0), self.head.loss, plan, clean=phase, fine_tune=lbfgs(mend)
            )
        )
        expunge.verify(done.certificate, model)
        row = {"before": before, "accuracy": self.accuracy(model), "cost": spent}
        rivals: dict[str, Callable[[], torch.nn.Module]] = {
            "retrained": partial(self._solve, stream, TRAINING),
            "retrained, whitened": partial(self.head.train, new),
            "from zero, as many": partial(self._solve, stream, lbfgs(int(spent["evaluations"]) - 1) or TRAINING),
        }
        for name, work in rivals.items():
            exact, again = cost(work)
            row |= {name: self.accuracy(exact), f"{name}, cost": again}
        return row

    def _batch(self, stream: Any, seed: int) -> list[Any]:
        return [(self.head.features[stream.index_map], self.data.labels[stream.index_map])]

    def _train(self, stream: Any, seed: int) -> torch.nn.Module:
        """From zero; the model on everything is trained once."""
        name = None if (stream.index_map != torch.arange(len(self.data))).any() else "everything"
        if name is None or name not in self.kept:
            model = self._solve(stream, TRAINING)
            if name is None:
                return model
            self.kept[name] = model
        return copy.deepcopy(self.kept[name])

    def _solve(self, stream: Any, recipe: FineTune) -> torch.nn.Module:
        model = self.head.model()
        unlearning.train_clean(model, self._batch(stream, 0), self.head.loss, recipe, seed=0)
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
