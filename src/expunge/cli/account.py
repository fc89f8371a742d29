"""`expunge account`: what a ledger of blocks and steps costs."""

from pathlib import Path

from ..accounting import cost, gaussian, load, renyi, unconditional
from . import loading
from .output import figure, print_facts, print_json


def account(ledger: Path, *, proximity: str, delta: float, failure: float | None = None, json: bool = False) -> None:
    """Compute (ε, δ) of any run from its ledger alone.

    Parameters
    ----------
    ledger
        JSON file with blocks and steps (schema expunge.ledger/1; see the docs, "Ledger").
    proximity
        Δ, how far apart the trained and the retrained model are at most: a number, or a file of `expunge calibrate`.
    delta
        δ of the guarantee, between 0 and 1.
    failure
        ϱ: the probability that a bare number for the proximity does not hold (default: unknown); a file says its own.
    json
        Print one JSON object.
    """
    blocks, claimed = load(ledger), loading.claim(proximity, failure)
    spent = cost(claimed, blocks)
    answer = {
        "schema": "expunge.account/1",
        "mu": spent,
        "delta": delta,
        "proximity": claimed.gap,
        "failure": claimed.failure,
        "source": claimed.source,
        "unconditional_delta": unconditional(delta, claimed.failure),
        "epsilon": {"gaussian": gaussian.epsilon(spent, delta), "renyi": renyi.epsilon(spent, delta)},
        "blocks": len(blocks),
        "steps": sum(len(block.steps) for block in blocks),
    }
    if json:
        print_json(answer)
        return
    print_facts(
        [
            ("blocks, steps", f"{answer['blocks']}, {answer['steps']}"),
            ("mu", figure(spent)),
            ("epsilon (gaussian, exact)", f"{figure(answer['epsilon']['gaussian'])} at delta {delta:g}"),
            ("epsilon (renyi, the paper's)", figure(answer["epsilon"]["renyi"])),
            ("holds if", f"trained and retrained model are within {claimed.gap:g} of each other"),
            *(
                [("in any case", f"at delta + failure = {answer['unconditional_delta']:.4g} ({claimed.source})")]
                if claimed.failure < 1.0
                else []
            ),
        ]
    )
