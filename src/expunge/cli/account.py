"""`expunge account`: what a ledger of blocks and steps costs."""

from pathlib import Path

from ..accounting import gaussian, load, mu, renyi, unconditional
from .output import figure, print_facts, print_json


def account(ledger: Path, *, proximity: float, delta: float, failure: float = 1.0, json: bool = False) -> None:
    """Compute (ε, δ) of any run from its ledger alone.

    Parameters
    ----------
    ledger
        JSON file with blocks and steps (schema expunge.ledger/1; see the docs, "Ledger").
    proximity
        Δ: how far apart the trained and the retrained model are at most, in Euclidean norm.
    delta
        δ of the guarantee, between 0 and 1.
    failure
        ϱ: the probability that the proximity does not hold (default: unknown).
    json
        Print one JSON object.
    """
    blocks = load(ledger)
    cost = mu(proximity, blocks)
    answer = {
        "mu": cost,
        "delta": delta,
        "proximity": proximity,
        "failure": failure,
        "unconditional_delta": unconditional(delta, failure),
        "epsilon": {"gaussian": gaussian.epsilon(cost, delta), "renyi": renyi.epsilon(cost, delta)},
        "blocks": len(blocks),
        "steps": sum(len(block.steps) for block in blocks),
    }
    if json:
        print_json(answer)
        return
    print_facts(
        [
            ("blocks, steps", f"{answer['blocks']}, {answer['steps']}"),
            ("mu", figure(cost)),
            ("epsilon (gaussian, exact)", f"{figure(answer['epsilon']['gaussian'])} at delta {delta:g}"),
            ("epsilon (renyi, the paper's)", figure(answer["epsilon"]["renyi"])),
            ("holds if", f"trained and retrained model are within {proximity:g} of each other"),
            *([("in any case", f"at delta + failure = {answer['unconditional_delta']:.4g}")] if failure < 1.0 else []),
        ]
    )
