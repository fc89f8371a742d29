"""The gap of a convex head on CIFAR-10, before and after clean phases of L-BFGS, for 1, 100, 5,000 samples and one class.

    python benchmarks/head_gaps.py --data-dir data --weights mobilenet_v2-b0353104.pth [--pairs 1] > head_gaps.jsonl

The features must be in the cache (`expunge train --workload cifar10-head` computes them), or torchvision must be there.
One line of JSON for each deletion and pair. The pairs are those of `expunge calibrate` with the same settings; the run on
all data is shared by all lines here.
"""

import argparse
import copy
import json
import time

import torch

from expunge.calibration.coupling import chance, retained, retained_stream
from expunge.calibration.distance import full_state, gap
from expunge.cli.loading import clean_phase
from expunge.unlearning import train_clean
from expunge.workloads import ClassDeletion, RandomDeletion, Workload, constants, open_workload

PHASES = (20, 60)
DELETIONS = {
    "1 sample": RandomDeletion(1 / 50_000),
    "100 samples": RandomDeletion(100 / 50_000),
    "5,000 samples": RandomDeletion(0.1),
    "class 5": ClassDeletion(5),
}


def gradient_norm(opened: Workload, model: torch.nn.Module, indices: torch.Tensor | None = None) -> float:
    """Of the regularised loss over these samples (default: all)."""
    (batch,) = opened.loader(opened.stream(indices))
    gradients = torch.autograd.grad(opened.loss(model, batch), list(model.parameters()))
    return torch.cat([gradient.flatten() for gradient in gradients]).norm().item()


def measure(opened: Workload, base: torch.nn.Module, name: str, pair: int) -> dict[str, object]:
    """One pair: as trained, and after each clean phase."""
    forget = DELETIONS[name].forget(opened.dataset, chance(0, pair, "deletion"))
    started = time.monotonic()
    twin = opened.train(retained_stream(opened.dataset, forget, chance(0, pair, "slots")), 0)
    found: dict[str, object] = {
        "deletion": name, "pair": pair, "removed": len(forget), "train_seconds": round(time.monotonic() - started, 1),
        "gap": {"as trained": gap(twin, full_state(base))["total"]}, "accuracy": {"as trained": opened.accuracy(base)},
    }  # fmt: skip
    stays = retained(forget, len(opened.dataset))
    found["retained_gradient"] = [gradient_norm(opened, model, stays) for model in (base, twin)]
    for steps in PHASES:
        pieces, started = (copy.deepcopy(base), copy.deepcopy(twin)), time.monotonic()
        for model in pieces:
            recipe = clean_phase(steps, "lbfgs", None)
            train_clean(model, opened.loader(opened.stream(stays)), opened.loss, recipe, seed=0)
        label = f"after {steps} iterations"
        found["gap"][label] = gap(pieces[1], full_state(pieces[0]))["total"]
        found["accuracy"][label] = opened.accuracy(pieces[0])
        found[f"clean_{steps}_seconds"] = round((time.monotonic() - started) / 2, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--data-dir", "--weights"):
        parser.add_argument(name, required=True)
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--l2", type=float, default=1e-3)
    chosen = parser.parse_args()
    opened = open_workload("cifar10-head", data_dir=chosen.data_dir, weights=chosen.weights, l2=chosen.l2)
    started = time.monotonic()
    base = opened.train(opened.stream(), 0)
    about = constants(opened.dataset.inputs, chosen.l2)
    print(json.dumps({"base_seconds": round(time.monotonic() - started, 1), "accuracy": opened.accuracy(base),
                      "gradient": gradient_norm(opened, base), "lipschitz": about.lipschitz,
                      "smoothness": about.smoothness, "strong_convexity": about.strong_convexity}), flush=True)  # fmt: skip
    for name in DELETIONS:
        for pair in range(chosen.pairs):
            print(json.dumps(measure(opened, base, name, pair)), flush=True)


if __name__ == "__main__":
    main()
