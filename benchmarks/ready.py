"""Unlearning-ready training, measured: what two stages cost in accuracy, and what they buy in ε.

    python benchmarks/ready.py --folder ready --output ready.json --plain            (digits: half a minute)
    python benchmarks/ready.py --folder deep --output deep.json --workload cifar10-resnet20 --model resnet8 \\
        --data-dir data --sizes 50 2500 --requests 2

Stage 1 on a random half of the samples, stage 2 on the other half. Ten coupled pairs of the second stage for each size of
a request. Then requests that are none of the pairs: certified output perturbation of all parameters, and fine-tuning of a
tenth of the second stage's steps; beside it the second stage without the samples (retraining), the reference alone with
the same steps, and (--plain) the same with training in one stage. What is finished is written at once; models and pairs
stay in the folder, and are not trained again.
"""

import argparse
import copy
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import expunge
from expunge import workloads
from expunge.calibration import retained_stream
from expunge.workloads.ready import others

DELTA = 1e-5


def log(*words: object) -> None:
    """Progress, apart from the answer."""
    print(time.strftime("%T"), *words, file=sys.stderr, flush=True)


def given(**changes: Any) -> dict[str, Any]:
    """What was asked for."""
    return {name: value for name, value in changes.items() if value is not None}


class Bench:
    """The reference, the model after both stages, and the model after one."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen, self.folder = chosen, chosen.folder
        ready = workloads.open_ready(
            chosen.workload,
            expunge.RandomDeletion(0.5),
            data_dir=chosen.data_dir,
            first=given(model=chosen.model, epochs=chosen.first_epochs),
            second=given(model=chosen.model, lr=chosen.lr),
        )
        path = self.folder / "reference.safetensors"
        started = time.process_time()
        if not path.exists():
            ready.save_reference(ready.reference(0, on_epoch=log, checkpoint=self.folder / "first"), path, 0)
        self.ready, self.first_seconds = ready.load_reference(path), round(time.process_time() - started, 1)
        self.opened, self.data = self.ready.workload, self.ready.workload.dataset
        steps = self.opened.recipe.total_steps(len(self.ready.revocable))
        self.steps = max(1, steps // 10)
        self.tuning = expunge.FineTune(self.steps, "sgd", lr=chosen.tune_lr, momentum=0.9, schedule="cosine")
        started = time.process_time()
        self.model = self.ready.train(self.ready.stream(), 0)
        self.about = {
            "settings": {k: v for k, v in vars(chosen).items() if k not in ("folder", "data_dir", "output")},
            "recipes": [self.ready.first.describe(), self.opened.recipe.describe()],
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "first_seconds": self.first_seconds,
            "second_seconds": round(time.process_time() - started, 1),
            "second_steps": steps,
            "steps_after_noise": self.steps,
            "reference": self.accuracy(self.reference()),
            "two stages": self.accuracy(self.model),
        }
        log(self.about)

    def reference(self) -> nn.Module:
        """The first stage's model."""
        model = self.opened.model(0)
        model.load_state_dict(self.ready.start or {})
        return model

    def accuracy(self, model: nn.Module) -> float:
        """In percent, on the test part."""
        return round(100 * self.opened.accuracy(model), 2)

    def retained(self, forget: Tensor) -> Any:
        """All other samples."""
        return self.opened.loader(self.opened.stream(others(forget, len(self.data))))

    def size(self, size: float) -> dict[str, Any]:
        """One size of a request: pairs, and requests."""
        size = int(size) if size >= 1 else size
        deletion = self.ready.deletion(expunge.RandomDeletion(size))
        models: dict[str, tuple[Callable[..., nn.Module], nn.Module]] = {"two stages": (self.ready.train, self.model)}
        if self.chosen.plain:
            models["one stage"] = (self._plain, self._plain(self.ready.stream(), 0))
        row: dict[str, Any] = {"size": size}
        for name, (train, model) in models.items():
            row[name] = self._calibrated(f"{size}-{name[:3]}", train, model, deletion)
        return row

    def _plain(self, stream: Any, seed: int) -> nn.Module:
        recipe = workloads.recipe(self.chosen.workload)
        return workloads.train(self.opened.model(seed), self.opened.stream(stream.index_map), recipe, seed=seed)

    def _calibrated(
        self, name: str, train: Callable[..., nn.Module], model: nn.Module, deletion: Any
    ) -> dict[str, Any]:
        started = time.process_time()
        found = expunge.calibrate(
            train,
            self.data,
            deletion,
            pairs=self.chosen.pairs,
            folder=self.folder / f"pairs-{name}",
            on_pair=lambda pair: log(name, pair["pair"], pair["gap"]["total"]),
        )
        row: dict[str, Any] = {"gap": found.proximity.gap, "failure": found.proximity.failure, "gaps": found.gaps}
        row["seconds"] = round(time.process_time() - started, 1)
        row["before"] = self.accuracy(model)
        row["requests"] = [
            self._request(train, model, found, deletion.forget(self.data, 1000 + seed), seed)
            for seed in range(self.chosen.requests)
        ]
        return row

    def _request(self, train: Any, model: nn.Module, found: Any, forget: Tensor, seed: int) -> dict[str, Any]:
        started = time.process_time()
        row: dict[str, Any] = {"removed": len(forget)}
        row["retrained"] = self.accuracy(train(retained_stream(self.data, forget, 1000 + seed), 0))
        row["retraining_seconds"] = round(time.process_time() - started, 1)
        start = self.reference()
        expunge.unlearning.train_clean(start, self.retained(forget), self.opened.loss, self.tuning, seed=seed)
        row["reference, same steps"] = self.accuracy(start)
        for epsilon in self.chosen.epsilons:
            row[f"epsilon {epsilon:g}"] = self._unlearned(model, found, epsilon, forget)
        log(row)
        return row

    def _unlearned(self, model: nn.Module, found: Any, epsilon: float, forget: Tensor) -> dict[str, float]:
        """Accuracy right after the noise, and after the fine-tuning. Both runs are certified, and verified."""
        row: dict[str, float] = {}
        for name, recipe in (("after noise", None), ("final", self.tuning)):
            own, started = copy.deepcopy(model), time.process_time()
            still = {"clip": 0.0, "step_size": 0.0}
            plan = expunge.plan(own, blocks=expunge.Whole(), proximity=found, epsilon=epsilon, delta=DELTA, **still)
            done = expunge.unlearn(
                own, self.retained(forget), self.opened.loss, plan, fine_tune=recipe, statistics_batches=20
            )
            row |= {"sigma": plan.blocks[0].steps[0].sigma, "seconds": round(time.process_time() - started, 1)}
            expunge.verify(done.certificate, own)
            row[name] = self.accuracy(own)
        return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="digits-mlp")
    parser.add_argument("--data-dir")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model")
    parser.add_argument("--first-epochs", type=int)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--tune-lr", type=float, default=0.01)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 50, 0.01, 0.1])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[10.0, 1.0])
    parser.add_argument("--plain", action="store_true", help="training in one stage as well")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(chosen)
    found: dict[str, Any] = {**bench.about, "sizes": []}
    for size in chosen.sizes:
        found["sizes"].append(bench.size(size))
        chosen.output.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
