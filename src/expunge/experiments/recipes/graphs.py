"""The paper's two graphs that need no model: what a larger Δ costs a finished run, and how the budget depends on ε."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...accounting import gaussian, paper, recertified_epsilon, renyi
from ...planning import make
from .panel import Scale

DELTA = 1e-5
FACTORS = tuple(1.0 + step / 20.0 for step in range(21))  # m = 1 … 2
EPSILONS = tuple(10.0 ** (exponent / 10.0) for exponent in range(31))  # ε = 1 … 1000

Points = list[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A figure whose lines are computed. `axes` names x and y; `log` says which are logarithmic."""

    name: str
    title: str
    source: str
    claim: str
    axes: tuple[str, str]
    compute: Callable[[], dict[str, Points]]
    log: str = ""

    def at(self, scale: Scale) -> "Graph":
        """The same at every scale."""
        return self

    def run(self) -> dict[str, Any]:
        """Points of every line, as plain values."""
        return {"lines": {label: [list(point) for point in points] for label, points in self.compute().items()}}


# Runs of the paper whose Δ, ε and schedule are printed.
RUNS: Mapping[str, dict[str, Any]] = {
    "MNIST, ε = 30": {"gap": 0.5, "epsilon": 30.0, "clip": 5000.0, "step_size": 1e-4, "weight_decay": 100.0},
    "ViT-Tiny, ε = 50": {"gap": 0.25, "epsilon": 50.0, "clip": 33.0, "step_size": 2e-3, "weight_decay": 50.0},
}


def _recertified() -> dict[str, Points]:
    lines: dict[str, Points] = {}
    for label, values in RUNS.items():
        schedule = {name: values[name] for name in ("clip", "step_size", "weight_decay")}
        target = {"epsilon": values["epsilon"], "delta": DELTA}
        for accountant in ("gaussian", "renyi"):
            plan = make([1], proximity=values["gap"], steps=2, accountant=accountant, **target, **schedule)
            lines[f"{label}: ours, {accountant}"] = [
                (m, recertified_epsilon(m * values["gap"], plan.blocks, delta=DELTA, accountant=accountant))
                for m in FACTORS
            ]
        lines[f"{label}: the paper's rule"] = [
            (m, paper.budget_after(values["gap"], m * values["gap"], **target)) for m in FACTORS
        ]
    return lines


def _budget() -> dict[str, Points]:
    """1/B = ε_R/q = μ²/2."""
    return {
        "1/B, Rényi (the paper's)": [(epsilon, renyi.mu(epsilon, DELTA) ** 2 / 2.0) for epsilon in EPSILONS],
        "μ²/2, exact": [(epsilon, gaussian.mu(epsilon, DELTA) ** 2 / 2.0) for epsilon in EPSILONS],
    }


GRAPHS = (
    Graph(
        name="recertification",
        title="What a larger Δ costs a run that is over",
        source="figure fig:budget-recalculation",
        claim="ε grows smoothly with the factor on Δ.",
        axes=("factor m on Δ", "ε at δ = 1e-5"),
        compute=_recertified,
    ),
    Graph(
        name="budget",
        title="The budget constant 1/B over ε",
        source="figure fig:B-and-varepsilon-connection-1000",
        claim="1/B = ε_R/q at the best order, δ = 1e-5.",
        axes=("ε", "1/B"),
        compute=_budget,
        log="xy",
    ),
)
