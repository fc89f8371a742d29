"""`expunge recertify`: what a finished run is worth under another proximity."""

from pathlib import Path
from typing import Any

from ..accounting import largest_gap, paper
from ..accounting.ledger import read_blocks
from ..errors import BudgetError, CertificationError, ConfigError
from . import loading
from .output import figure, print_facts, print_json


def recertify(
    certificate: Path,
    *,
    proximity: str,
    delta: float | None = None,
    output: Path = Path("recertified.json"),
    sign_key: Path | None = None,
    json: bool = False,
) -> None:
    """Compute a new certificate from the ledger of an old one. The model is not touched, and need not be there.

    Parameters
    ----------
    certificate
        The certificate to start from; the new one names it as its parent.
    proximity
        The new Δ, a number or a proximity file.
    delta
        Another δ (default: as before).
    output
        Where the new certificate goes.
    sign_key
        An Ed25519 private key (PEM) to sign it with.
    json
        Print one JSON object.
    """
    from .. import certificate as certificates

    loading.destination("output", output)
    if output.absolute() == certificate.absolute():
        raise ConfigError(f"--output {output} would overwrite the certificate it starts from. Name another file.")
    old = certificates.load(certificate)
    new = certificates.recertify(old, proximity=loading.proximity(proximity), delta=delta)
    if sign_key is not None:
        new = certificates.sign(new, sign_key)
    new.save(output)
    answer = {
        "schema": "expunge.recertified/1",
        "guarantee": new["guarantee"],
        "proximity": new["hops"][-1]["proximity"]["gap"],
        "before": {"epsilon": old.epsilon, "proximity": old["hops"][-1]["proximity"]["gap"]},
        "paper_rule_epsilon": _paper_rule(old, new),
        "largest_proximity_for_the_old_epsilon": _largest(old),
        "certificate": str(output),
    }
    if json:
        print_json(answer)
        return
    before, rule, largest = (
        answer["before"],
        answer["paper_rule_epsilon"],
        answer["largest_proximity_for_the_old_epsilon"],
    )
    print_facts(
        [
            ("before", f"epsilon {figure(before['epsilon'])} at proximity {before['proximity']:g}"),
            ("now", f"epsilon {figure(new.epsilon)} at proximity {answer['proximity']:g}, delta {new.delta:g}"),
            *([("by the paper's rule B/m²", figure(rule))] if rule is not None else []),
            *([("the old epsilon holds up to", f"proximity {figure(largest)}")] if largest is not None else []),
            ("certificate", str(output)),
        ]
    )


def _paper_rule(old: Any, new: Any) -> float | None:
    """Its ε (by its own accountant), for a single request and a larger gap."""
    gaps = [certificate["hops"][-1]["proximity"]["gap"] for certificate in (old, new)]
    if len(old["hops"]) > 1 or not 0.0 < gaps[0] <= gaps[1]:
        return None
    return paper.budget_after(*gaps, epsilon=old["guarantee"]["epsilon"]["renyi"], delta=old.delta)


def _largest(old: Any) -> float | None:
    if len(old["hops"]) > 1 or old["hops"][-1]["looks"] > 1:
        return None
    try:
        return largest_gap(
            read_blocks(old["hops"][-1]["blocks"]),
            epsilon=old.epsilon,
            delta=old.delta,
            accountant=old["guarantee"]["accountant"],
        )
    except (BudgetError, CertificationError):
        return None
