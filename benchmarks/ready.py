"""Unlearning-ready training, measured: what two stages cost in accuracy, and what they buy in ε.

    python benchmarks/ready.py --folder ready --output ready.json --plain            (digits: half a minute)
    python benchmarks/ready.py --folder deep --output deep.json --workload cifar10-resnet20 --model resnet8 \\
        --data-dir data --sizes 50 2500 --requests 2

Stage 1 on permanent samples (half of all, or --permanent), stage 2 on the others. Ten coupled pairs of the second stage for
each size of a request. Then requests that are none of the pairs: certified output perturbation of all parameters, and
(--rank) of a core of each matrix, the rest reset to the reference; each with a tenth of the second stage's steps in all.
Beside it the second stage without the samples (retraining), the reference alone with the same steps, and (--plain) the same
with training in one stage. What is finished is written at once; models and pairs stay in the folder, and are not trained
again.
"""

import argparse
import copy
import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import expunge
from expunge import Core, FineTune, Reference, Whole, weights, workloads
from expunge.calibration import retained_stream
from expunge.workloads.ready import others

DELTA = 1e-5


def log(*words: object) -> None:
    """Progress, apart from the answer."""
    print(time.strftime("%T"), *words, file=sys.stderr, flush=True)


def given(**changes: Any) -> dict[str, Any]:
    """What was asked for."""
    return {name: value for name, value in changes.items() if value is not None}


class Kept:
    """A training whose results stay in a folder: two calibrations of the same pairs train once."""

    def __init__(self, train: Callable[..., nn.Module], make: Callable[[int], nn.Module], folder: Path) -> None:
        self.train, self.make, self.folder = train, make, folder
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, stream: Any, seed: int) -> nn.Module:
        """One run, or what it gave before."""
        name = f"{hashlib.sha256(stream.index_map.numpy().tobytes()).hexdigest()[:16]}-{seed}.safetensors"
        if not (self.folder / name).exists():
            weights.save(self.train(stream, seed).state_dict(), self.folder / name)
        model = self.make(seed)
        model.load_state_dict(weights.load(self.folder / name))
        return model

    def describe(self) -> dict[str, Any]:
        """For the proximity file."""
        owner = getattr(self.train, "__self__", None)
        return owner.describe() if owner is not None and hasattr(owner, "describe") else {}


class Bench:
    """The reference, the model after both stages, and the model after one."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen, self.folder = chosen, chosen.folder
        ready = workloads.open_ready(
            chosen.workload,
            expunge.RandomDeletion(chosen.permanent),
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
        self.bases = self.steps // 3
        started = time.process_time()
        self.train = Kept(self.ready.train, self.opened.model, self.folder / "second")
        self.model = self.train(self.ready.stream(), 0)
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

    def tuning(self, steps: int) -> FineTune:
        """After the noise, and in the bases' run."""
        return FineTune(steps, "sgd", lr=self.chosen.tune_lr, momentum=0.9, schedule="cosine")

    def designs(self) -> dict[str, Any]:
        """What is kept and noised: everything, or a core of each matrix."""
        found: dict[str, Any] = {"all": Whole()}
        if self.chosen.rank:
            path = self.folder / "reference.safetensors"
            state = {name: value.detach() for name, value in self.reference().named_parameters()}
            weights.save(state, parameters := self.folder / "parameters.safetensors")
            about = {
                "file": parameters,
                "sha256": hashlib.sha256(parameters.read_bytes()).hexdigest(),
                "origin": str(path),
            }
            found["core"] = Core(
                self.chosen.rank, reference=Reference(**about), bases=self.tuning(self.bases), rest="run"
            )
        return found

    def loader(self, stream: Any, _: int = 0) -> Any:
        """Batches of a stream."""
        return self.opened.loader(self.opened.stream(stream.index_map))

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
        models: dict[str, tuple[Callable[..., nn.Module], nn.Module]] = {"two stages": (self.train, self.model)}
        if self.chosen.plain:
            plain = Kept(self._plain, self.opened.model, self.folder / "plain")
            models["one stage"] = (plain, plain(self.ready.stream(), 0))
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
        started, claims = time.process_time(), dict[str, Any]()
        designs = self.designs()
        for kind, design in designs.items():
            claims[kind] = expunge.calibrate(
                train,
                self.data,
                deletion,
                pairs=self.chosen.pairs,
                folder=self.folder / f"pairs-{name}-{kind}",
                on_pair=lambda pair, kind=kind: log(name, kind, pair["pair"], pair["gap"]["total"]),
                **({} if kind == "all" else {"design": design, "loss": self.opened.loss, "loader": self.loader}),
            )
        found = claims["all"]
        row: dict[str, Any] = {"gap": found.proximity.gap, "failure": found.proximity.failure, "gaps": found.gaps}
        row |= {"gap, core": claims["core"].proximity.gap} if "core" in claims else {}
        row["seconds"] = round(time.process_time() - started, 1)
        row["before"] = self.accuracy(model)
        row["requests"] = [
            self._request(train, model, designs, claims, deletion.forget(self.data, 1000 + seed), seed)
            for seed in range(self.chosen.requests)
        ]
        return row

    def _request(
        self, train: Any, model: nn.Module, designs: dict[str, Any], claims: dict[str, Any], forget: Tensor, seed: int
    ) -> dict[str, Any]:
        started = time.process_time()
        row: dict[str, Any] = {"removed": len(forget)}
        row["retrained"] = self.accuracy(train(retained_stream(self.data, forget, 1000 + seed), 0))
        row["retraining_seconds"] = round(time.process_time() - started, 1)
        start = self.reference()
        recipe = self.tuning(self.steps)
        expunge.unlearning.train_clean(start, self.retained(forget), self.opened.loss, recipe, seed=seed)
        row["reference, same steps"] = self.accuracy(start)
        for epsilon in self.chosen.epsilons:
            for kind, design in designs.items():
                found = self._unlearned(model, design, claims[kind], epsilon, forget)
                row[f"epsilon {epsilon:g}" + ("" if kind == "all" else f", {kind}")] = found
        log(row)
        return row

    def _unlearned(self, model: nn.Module, design: Any, claim: Any, epsilon: float, forget: Tensor) -> dict[str, float]:
        """Accuracy right after the noise, and at the end. The runs are certified, and verified."""
        row: dict[str, float] = {}
        core = isinstance(design, Core)
        last = self.tuning(self.steps - self.bases if core else self.steps)
        for name, recipe in (("after noise", None), ("final", last)):
            own, started = copy.deepcopy(model), time.process_time()
            still = {"clip": 0.0, "step_size": 0.0}
            plan = expunge.plan(own, blocks=design, proximity=claim, epsilon=epsilon, delta=DELTA, **still)
            done = expunge.unlearn(
                own, self.retained(forget), self.opened.loss, plan, fine_tune=recipe, statistics_batches=20,
                **({"design": design} if core else {}),
            )  # fmt: skip
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
    parser.add_argument("--permanent", type=float, default=0.5, help="share of the samples in the first stage")
    parser.add_argument("--rank", type=int, default=0, help="of the cores that are kept; 0: no such row")
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
