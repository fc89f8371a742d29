"""What each choice costs on digits: one setting changed at a time, simulated noise, test accuracy after the same recovery.

    python benchmarks/choices.py [epsilon gap design k clip decay steps recovery]

The base: digits-mlp, a random 10 % removed, training seed 0, Δ as calibrated (10 pairs), ε = 30, δ = 1e-5, Permutation(4),
no gradient in the noisy steps, ρ = 0.3 (decay 0.7), one noisy step per block, then 100 steps of SGD (rate 0.05, momentum
0.9, cosine). Beside each: the same run, noise and all, on the public initialisation. Means over the noise seeds 0 … 4.
"""

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

import expunge
from expunge import planning, workloads

SEEDS = range(5)


@dataclass(frozen=True)
class Setting:
    """The base, or the base with something changed."""

    design: Any = field(default_factory=lambda: expunge.Permutation(4))
    gap: float = 0.0  # 0: as calibrated
    epsilon: float = 30.0
    clip: float = 0.0
    step_size: float = 0.05
    decay: float = 0.7  # γλ
    steps: int = 1
    recovery: int = 100


BASE = Setting()
SWEEPS: dict[str, list[Setting]] = {
    "epsilon": [replace(BASE, epsilon=value) for value in (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)],
    "gap": [replace(BASE, gap=value) for value in (0.1, 0.4, 1.6, 6.4)],
    "design": [
        replace(BASE, design=design)
        for design in (
            expunge.Whole(),
            expunge.Permutation(4),
            expunge.LayerCycle(4),
            expunge.HeadBody(),
            expunge.FastRotation(4),
            expunge.RandomRotation(4),
        )
    ],
    "k": [replace(BASE, design=expunge.Permutation(k)) for k in (1, 2, 4, 16, 64)],
    "clip": [replace(BASE, clip=value) for value in (0.0, 0.5, 2.0, 10.0, 50.0)],
    "decay": [replace(BASE, decay=value) for value in (0.0, 0.4, 0.7, 0.9, 0.97)],
    "steps": [
        replace(BASE, clip=2.0, steps=value, decay=0.7 if value == 1 else 1 - 0.3 ** (1 / value))
        for value in (1, 2, 5, 20)
    ],
    "recovery": [replace(BASE, recovery=value) for value in (0, 15, 50, 100, 300)],
}


class Bench:
    """Digits, a trained model, and the gap of ten pairs."""

    def __init__(self) -> None:
        self.workload = workloads.open_workload("digits-mlp")
        deletion = workloads.RandomDeletion(0.1)
        self.split = workloads.split(self.workload.dataset, deletion, 1000)
        self.trained = self.workload.train(self.workload.stream(), 0).state_dict()
        found = expunge.calibrate(self.workload.train, self.workload.dataset, deletion, pairs=10)
        self.gap = found.proximity.gap
        retrained = self.workload.train(self.workload.stream(self.split.retain), 0)
        accuracies = f"before {self.accuracy(self.trained):.1%}; retrained {self.workload.accuracy(retrained):.1%}"
        print(f"Δ = {self.gap:.4g}; {accuracies}")

    def accuracy(self, state: dict[str, torch.Tensor]) -> float:
        """On the test samples."""
        model = self.workload.model(0)
        model.load_state_dict(state)
        return self.workload.accuracy(model)

    def measure(self, setting: Setting) -> Iterator[str]:
        """σ, the norm of the noise, and the accuracies."""
        model = self.workload.model(0)
        plan = expunge.plan(
            model,
            blocks=setting.design,
            proximity=setting.gap or self.gap,
            epsilon=setting.epsilon,
            delta=1e-5,
            clip=setting.clip,
            step_size=setting.step_size,
            weight_decay=setting.decay / setting.step_size,
            steps=setting.steps,
        )
        yield f"{plan.blocks[0].steps[0].sigma:.3g}"
        yield f"{sum(planning.noise_norm(block) ** 2 for block in plan.blocks) ** 0.5:.3g}"
        for start in (self.trained, self.workload.model(0).state_dict()):
            found = [100 * self.run(plan, setting, start, seed) for seed in SEEDS]
            yield f"{statistics.mean(found):.1f} ± {statistics.stdev(found):.1f}"

    def run(self, plan: Any, setting: Setting, start: dict[str, torch.Tensor], seed: int) -> float:
        """One simulated run."""
        model = self.workload.model(0)
        model.load_state_dict(start)
        torch.manual_seed(seed)
        tune = expunge.FineTune(setting.recovery, "sgd", 0.05, schedule="cosine") if setting.recovery else None
        retained = self.workload.loader(self.workload.stream(self.split.retain))
        expunge.unlearn(model, retained, self.workload.loss, plan, design=setting.design, fine_tune=tune, simulate=seed)
        return self.workload.accuracy(model)


def main(names: list[str]) -> None:
    """A table for each sweep."""
    torch.set_num_threads(1)
    bench = Bench()
    for name in names or SWEEPS:
        print(f"\n| {name} | σ | norm of the noise | from the trained model | from the public initialisation |")
        print("|---|---|---|---|---|")
        for setting in SWEEPS[name]:
            shown = {"gap": f"{setting.gap:g}", "k": str(len(_blocks(bench, setting))), "design": repr(setting.design)}
            print(
                f"| {shown.get(name, getattr(setting, name, ''))} | {' | '.join(bench.measure(setting))} |", flush=True
            )


def _blocks(bench: Bench, setting: Setting) -> Any:
    shapes = {name: parameter.shape for name, parameter in bench.workload.model(0).named_parameters()}
    return setting.design.bind(shapes).dimensions


if __name__ == "__main__":
    main(sys.argv[1:])
