"""Reset blocks on MNIST, random 10 % removed: calibrated on ten pairs, certified, beside the plain alternatives.

    OMP_NUM_THREADS=1 python benchmarks/core_mnist.py --data-dir data --folder runs --output core_mnist.json [--requests 3]

`--folder` keeps every training, so that another keep-space costs only its bases' runs. Settings were chosen on the
calibration's pairs. One JSON object; a table on standard output.
"""

import argparse
import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import expunge
from expunge import Core, FineTune, RandomDeletion, Reference, accounting, unlearning, weights
from expunge.calibration import base_stream, retained_stream
from expunge.calibration.coupling import chance, retained
from expunge.workloads import Workload, models, open_workload
from expunge.workloads.training import steps

STEPS, RATE, PAIRS, DELTA = 600, 0.03, 10, 1e-5
REQUEST, SLOTS = 20_000, 30_000  # seeds of the requests, far from those of the pairs


def opened(data_dir: str) -> Workload:
    """The MLP, trained for 600 steps of batch 64."""
    return open_workload("mnist-mlp", data_dir=data_dir, lr=RATE, steps=STEPS, test_samples=1)


@dataclass(frozen=True)
class Training:
    """SGD, and the average of the second half's weights; every training is kept in a folder."""

    workload: Workload
    folder: Path

    def __call__(self, stream: Any, seed: int) -> nn.Module:
        """One run, or what it gave before."""
        model = self.workload.model(seed)
        name = f"{hashlib.sha256(stream.index_map.numpy().tobytes()).hexdigest()[:16]}-{seed}.safetensors"
        if not (self.folder / name).exists():
            weights.save(self._average(copy.deepcopy(model), stream, seed), self.folder / name)
        model.load_state_dict(weights.load(self.folder / name))
        return model

    def _average(self, model: nn.Module, stream: Any, seed: int) -> dict[str, Tensor]:
        total: dict[str, Tensor] = {}
        taken = 0
        for step in steps(model, self.workload.stream(stream.index_map), self.workload.recipe, seed=seed):
            if step.step > STEPS // 2 and step.step % 10 == 0:
                taken += 1
                for key, value in step.model.state_dict().items():
                    total[key] = total.get(key, 0) + value.double()
        return {key: (value / taken).float() for key, value in total.items()}

    def describe(self) -> dict[str, Any]:
        """For the proximity file."""
        return {"recipe": self.workload.recipe.describe(), "average": "second half, every tenth step"}


class Batches:
    """Batches of 64 with the samples' numbers, in an order from torch's global generator."""

    def __init__(self, workload: Workload, indices: Tensor) -> None:
        self.data, self.indices = workload.dataset, indices

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for slots in torch.randperm(len(self.indices)).split(64):
            chosen = self.indices[slots]
            yield self.data.inputs[chosen].float() / 255, self.data.labels[chosen], chosen


def numbers(batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The samples of a batch."""
    return batch[2]


class Pages:
    """All that one benchmark needs, and what it found."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.workload = options, opened(options.data_dir)
        options.folder.mkdir(parents=True, exist_ok=True)
        self.train = Training(self.workload, options.folder)
        run = FineTune(options.bases_steps, lr=options.bases_lr, schedule="cosine")
        reference = Reference(partial(models.build, "mlp", seed=0), origin="the training's own initialisation")
        self.core = Core(options.rank, reference=reference, bases=run, rest="run", k=options.blocks)
        self.fine_tune = FineTune(options.fine_tune, "adam", options.rate, schedule="cosine")

    def loader(self, stream: Any, _: int = 0) -> Batches:
        """Batches of a stream."""
        return Batches(self.workload, stream.index_map)

    def ahead(self) -> None:
        """Only the trainings, as calibration and requests will ask for them."""
        data, deletion = self.workload.dataset, RandomDeletion(0.1)
        self.train(base_stream(data), 0)
        for pair in range(PAIRS):
            forget = deletion.forget(data, chance(0, pair, "deletion"))
            self.train(retained_stream(data, forget, chance(0, pair, "slots")), 0)
        for request in range(self.options.requests):
            self.retrained(deletion.forget(data, REQUEST + request), request)

    def retrained(self, forget: Tensor, request: int) -> nn.Module:
        """The same training without the data."""
        return self.train(retained_stream(self.workload.dataset, forget, SLOTS + request), 0)

    def calibrate(self) -> expunge.Calibration:
        """Ten pairs, each with bases of its own."""
        return expunge.calibrate(
            self.train, self.workload.dataset, RandomDeletion(0.1), pairs=PAIRS, design=self.core,
            loss=self.workload.loss, loader=self.loader,
        )  # fmt: skip

    def request(self, number: int, claims: dict[str, accounting.Proximity]) -> list[dict[str, Any]]:
        """One request: certified runs, and the alternatives with as many steps."""
        torch.manual_seed(REQUEST + number)
        forget = RandomDeletion(0.1).forget(self.workload.dataset, REQUEST + number)
        kept = Batches(self.workload, retained(forget, len(self.workload.dataset)))
        shared = {"request": number, "retrained": self.workload.accuracy(self.retrained(forget, number))}
        rows = [
            shared | {"method": f"core, {name}", "epsilon": epsilon} | self.unlearn(kept, forget, claim, epsilon)
            for name, claim in claims.items()
            for epsilon in self.options.epsilon
        ]
        for count in sorted({*self.options.scratch, self.options.bases_steps + self.options.fine_tune}):
            recipe = FineTune(count, "adam", self.options.scratch_rate, schedule="cosine")
            rows.append(
                shared | {"method": "from the reference", "steps": count, "final": self.from_reference(kept, recipe)}
            )
        return rows

    def unlearn(self, kept: Batches, forget: Tensor, claim: accounting.Proximity, epsilon: float) -> dict[str, Any]:
        """A certified run from the model on all data."""
        model, seen = self.train(base_stream(self.workload.dataset), 0), dict[str, float]()

        def look(progress: unlearning.Progress) -> None:
            if progress.step == progress.steps and progress.phase != "fine-tune":
                seen[progress.phase] = self.workload.accuracy(model)

        plan = expunge.plan(
            model, blocks=self.core, proximity=claim, epsilon=epsilon, delta=DELTA, clip=0.0, step_size=0.0
        )
        outcome = expunge.unlearn(
            model, kept, self.workload.loss, plan, design=self.core, fine_tune=self.fine_tune, forget=forget.tolist(),
            indices=numbers, progress=look,
        )  # fmt: skip
        expunge.verify(outcome.certificate, model)
        return {
            "steps": outcome.record.batches,
            "bases_run": seen["bases"],
            "after_noise": seen["noise"],
            "final": self.workload.accuracy(model),
            "sigma": [block.steps[0].sigma for block in plan.blocks],
            "failure": claim.failure,
            "kind": outcome.certificate["kind"],
            "certificate": outcome.certificate.sha256,
            "seconds": outcome.record.seconds,
        }

    def from_reference(self, kept: Batches, recipe: FineTune) -> float:
        """As many steps from the public initialisation: no certificate is needed."""
        model = self.workload.model(0)
        unlearning.train_clean(model, kept, self.workload.loss, recipe, seed=int(torch.randint(2**31, ()).item()))
        return self.workload.accuracy(model)


def main() -> None:
    """Calibrate, answer the requests, and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path("core_mnist.json"))
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[30.0, 10.0])
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--bases-steps", type=int, default=300)
    parser.add_argument("--bases-lr", type=float, default=0.1)
    parser.add_argument("--fine-tune", type=int, default=150)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--scratch", type=int, nargs="*", default=[150, 200, 300])
    parser.add_argument("--scratch-rate", type=float, default=2e-3)
    parser.add_argument("--ahead", action="store_true", help="only the trainings")
    options = parser.parse_args()
    torch.set_num_threads(1)
    pages = Pages(options)
    if options.ahead:
        return pages.ahead()
    found = pages.calibrate()
    claims = {"one gap": found.proximity, "gaps by block": found.by_block()}
    rows = [row for request in range(options.requests) for row in pages.request(request, claims)]
    everywhere = max(pair["gap"]["everywhere"] for pair in found.pairs)
    answer = {
        "settings": {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()},
        "dimensions": pages.core.bind({n: p.shape for n, p in pages.workload.model(0).named_parameters()}).dimensions,
        "original": pages.workload.accuracy(pages.train(base_stream(pages.workload.dataset), 0)),
        "gap_everywhere": everywhere,
        "gap_kept": found.proximity.gap,
        "gaps_by_block": claims["gaps by block"].gaps,
        "rows": rows,
    }
    options.output.write_text(json.dumps(answer, indent=1) + "\n")
    for row in rows:
        shown = [
            row.get(name, "")
            for name in ("method", "epsilon", "steps", "bases_run", "after_noise", "final", "retrained")
        ]
        print(" | ".join(f"{value:.4f}" if isinstance(value, float) and value <= 1 else str(value) for value in shown))
    return None


if __name__ == "__main__":
    main()
