"""`expunge plan`: the noise that a privacy target asks for, before anything runs."""

from typing import Any

from .. import planning
from ..accounting import Accountant, unconditional
from ..accounting.checks import whole
from ..accounting.ledger import SCHEMA, block_record
from ..errors import ConfigError
from . import loading
from .numbers import StepCount, WholeNumber
from .output import figure, print_facts, print_json, print_table

MOST_BLOCKS = 100_000


def plan(
    *,
    epsilon: float,
    delta: float,
    proximity: str,
    clip: float,
    step_size: float,
    weight_decay: float,
    parameters: WholeNumber,
    steps: StepCount = 1,
    blocks: WholeNumber = 1,
    accountant: Accountant = "gaussian",
    failure: float | None = None,
    json: bool = False,
) -> None:
    """Find the least noise for (ε, δ), and show it beside the plain alternatives.

    Parameters
    ----------
    epsilon
        ε of the guarantee, above 0.
    delta
        δ of the guarantee, between 0 and 1.
    proximity
        Δ, how far apart the trained and the retrained model are at most: a number, or a file of `expunge calibrate`.
    clip
        C₁: gradient clip of the whole parameter vector; each of k blocks clips at C₁/√k.
    step_size
        γ of the noisy steps.
    weight_decay
        λ of the noisy steps; γλ must be below 1.
    parameters
        Number of trainable parameters.
    steps
        T, noisy steps per block: a whole number, or "best" for the one with the least noise.
    blocks
        k, the number of orthogonal blocks, of nearly equal size.
    accountant
        "gaussian" is exact; "renyi" is the paper's and asks for more noise.
    failure
        ϱ: the probability that a bare number for the proximity does not hold (default: unknown); a file says its own.
    json
        Print one JSON object; its "ledger" is what `expunge account` reads.
    """
    blocks = whole("blocks", blocks, most=MOST_BLOCKS)
    parameters = whole("parameters", parameters)
    if blocks > parameters:
        raise ConfigError(f"blocks must be at most the number of parameters, {parameters}; got {blocks}.")
    made = planning.make(
        [parameters // blocks + (i < parameters % blocks) for i in range(blocks)],
        epsilon=epsilon,
        delta=delta,
        proximity=loading.claim(proximity, failure),
        clip=clip,
        step_size=step_size,
        weight_decay=weight_decay,
        steps=steps,
        accountant=accountant,
    )
    answer = _answer(made)
    print_json(answer) if json else _show(answer)


def _answer(made: planning.Plan) -> dict[str, Any]:
    rivals = planning.alternatives(made)
    parameters = sum(block.dimension or 0 for block in made.blocks)
    paper = rivals.paper and {
        "sigma_min": rivals.paper.sigma,
        "optimal_steps": rivals.paper.optimal_steps,
        "judged_at_steps": rivals.paper.steps,
        "variance_factor": rivals.paper.variance_factor,
        "valid": {name: rivals.paper.valid(name) for name in rivals.paper.variance_factor},
    }
    return {
        "schema": "expunge.planned/1",
        "epsilon": made.epsilon,
        "delta": made.delta,
        "unconditional_delta": unconditional(made.delta, made.proximity.failure),
        "proximity": made.gap,
        "failure": made.proximity.failure,
        "source": made.proximity.source,
        "entry": made.proximity.entry,
        "accountant": made.accountant,
        "mu": made.mu,
        "parameters": parameters,
        "noise_norm": sum(planning.noise_norm(block) ** 2 for block in made.blocks) ** 0.5,
        "per_block": [
            {
                "block": i,
                "dimension": block.dimension,
                "steps": len(block.steps),
                "clip": block.steps[0].clip,
                "sigma": block.steps[0].sigma,
                "noise_norm": planning.noise_norm(block),
            }
            for i, block in enumerate(made.blocks)
        ],
        "output_perturbation": {
            "sigma": rivals.output_perturbation,
            "noise_norm": rivals.output_perturbation * parameters**0.5,
        },
        "paper": paper,
        "ledger": {"schema": SCHEMA, "blocks": [block_record(block) for block in made.blocks]},
    }


def _show(answer: dict[str, Any]) -> None:
    rows = answer["per_block"]
    print_table(
        ["block", "dimension", "steps", "clip", "sigma", "noise norm"],
        [
            [str(row["block"]), f"{row['dimension']:,}", str(row["steps"])]
            + [figure(row[name]) for name in ("clip", "sigma", "noise_norm")]
            for row in (rows if len(rows) <= 20 else [*rows[:19], rows[-1]])
        ],
    )
    if len(rows) > 20:
        print(f"({len(rows) - 20} more blocks alike)")
    print()
    plain = answer["output_perturbation"]
    promise = f"({answer['epsilon']:g}, {answer['delta']:g})"
    facts = [
        ("guarantee", f"{promise}, if trained and retrained model are within {answer['proximity']:g} of each other"),
        ("mu", f"{figure(answer['mu'])} ({answer['accountant']} accountant)"),
        ("noise norm, all blocks", figure(answer["noise_norm"])),
        ("output perturbation", f"sigma {figure(plain['sigma'])}, noise norm {figure(plain['noise_norm'])}"),
    ]
    if answer["failure"] < 1.0:
        why = f"as the proximity fails with probability {answer['failure']:.4g} ({answer['source']})"
        facts.insert(1, ("in any case", f"({answer['epsilon']:g}, {answer['unconditional_delta']:.4g}), {why}"))
    if answer["entry"] is not None:
        facts.insert(1, ("after the clean phase", answer["entry"]))
    print_facts(facts + _paper_facts(answer["paper"]))


def _paper_facts(paper: dict[str, Any] | None) -> list[tuple[str, str]]:
    if paper is None:
        return []
    best = paper["optimal_steps"]
    where = "in the limit of many steps" if best is None else f"at its T* = {best:.4g}"
    verdicts = [
        f"{'valid' if paper['valid'][name] else 'not valid'} by the {name} accountant "
        f"(needs {factor:.6g} × its variance)"
        for name, factor in paper["variance_factor"].items()
    ]
    return [
        ("the paper's sigma_min", f"{figure(paper['sigma_min'])} {where}"),
        (f"  run at T = {paper['judged_at_steps']}", "; ".join(verdicts)),
    ]
