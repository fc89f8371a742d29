"""What else could have been done with the same budget: every plan is shown beside its plainest rivals."""

import math
from dataclasses import dataclass

from ..accounting import paper, sigma
from ..accounting.recertify import conversion
from ..errors import BudgetError
from .plan import Plan


@dataclass(frozen=True, slots=True)
class PaperNoise:
    """The paper's σ_min at its real-valued T*, judged at the whole number of steps that the plan runs."""

    sigma: float
    optimal_steps: float | None  # none where the noise only falls with T
    steps: int
    variance_factor: dict[str, float]  # variance needed at `steps` over the paper's, per accountant

    def valid(self, accountant: str) -> bool:
        """Whether a run with the paper's σ would have kept (ε, δ)."""
        return self.variance_factor[accountant] <= 1.0


@dataclass(frozen=True, slots=True)
class Alternatives:
    """σ of plain output perturbation with the same accountant, and the paper's own noise."""

    output_perturbation: float
    paper: PaperNoise | None  # none without a gradient step, where the paper has no formula


def alternatives(plan: Plan) -> Alternatives:
    """The rivals of a plan; the paper's formula is for equal blocks of constant steps."""
    step, count = plan.blocks[0].steps[0], len(plan.blocks[0].steps)
    clip = step.clip * math.sqrt(len(plan.blocks))
    schedule = {"step_size": step.step_size, "weight_decay": step.weight_decay, "clip": clip}
    comparable = all(block.constant and block.steps == plan.blocks[0].steps for block in plan.blocks)
    still = {"step_size": 0.0, "weight_decay": 0.0, "clip": 0.0}
    budgets = {name: conversion(name).mu(plan.epsilon, plan.delta) for name in ("renyi", "gaussian")}
    return Alternatives(
        output_perturbation=sigma(budgets[plan.accountant], plan.gap, **still, steps=1),
        paper=_paper(plan, schedule, count, budgets) if comparable and clip * step.step_size * plan.gap > 0.0 else None,
    )


def _paper(plan: Plan, schedule: dict[str, float], steps: int, budgets: dict[str, float]) -> PaperNoise:
    noise = paper.minimal_sigma(plan.gap, **schedule, epsilon=plan.epsilon, delta=plan.delta)
    try:
        best = paper.optimal_steps(plan.gap, **schedule)
    except BudgetError:
        best = None
    needed = {name: sigma(budget, plan.gap, **schedule, steps=steps) for name, budget in budgets.items()}
    factors = {name: (value / noise) ** 2 if noise > 0.0 else math.inf for name, value in needed.items()}
    return PaperNoise(noise, best, steps, factors)
