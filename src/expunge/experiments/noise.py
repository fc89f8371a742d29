"""The paper's own σ for a line's settings, held against what the run needs."""

import math
from typing import Any

from .. import planning
from ..accounting import Proximity, gaussian
from ..accounting.gaussian import LARGEST_MU
from ..methods import BlockwiseNft, Nft


def papers_noise(method: object) -> dict[str, Any] | None:
    """σ of our plan and of the paper's formula, and whether the latter keeps (ε, δ) in the whole steps that are run.

    Equal blocks cost what one block costs, so one block of one coordinate stands for all. None where the paper has no
    formula: without gradient steps.
    """
    if not isinstance(method, (BlockwiseNft, Nft)):
        return None
    gap = method.proximity if isinstance(method.proximity, (float, Proximity)) else float("nan")
    plan = planning.make(
        [1],
        epsilon=method.epsilon,
        delta=method.delta,
        proximity=gap,
        clip=method.clip,
        step_size=method.step_size,
        weight_decay=method.weight_decay,
        steps=method.steps,
        accountant=method.accountant,
    )
    found = planning.alternatives(plan)
    if found.paper is None:
        return None
    return {
        "steps": found.paper.steps,
        "optimal_steps": found.paper.optimal_steps,
        "sigma": plan.blocks[0].steps[-1].sigma,
        "papers_sigma": found.paper.sigma,
        "output_perturbation": found.output_perturbation,
        "variance_factor": found.paper.variance_factor,
        "valid": {name: found.paper.valid(name) for name in found.paper.variance_factor},
        "epsilon": _epsilon(method, found.paper.variance_factor["gaussian"]),
    }


def _epsilon(method: BlockwiseNft | Nft, factor: float) -> float | None:
    """What the paper's σ keeps in these steps, by the exact accountant; None where that is no privacy at all."""
    mu = gaussian.mu(method.epsilon, method.delta) * math.sqrt(factor)
    return gaussian.epsilon(mu, method.delta) if mu <= LARGEST_MU else None
