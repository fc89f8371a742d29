"""Trust nobody: recompute the guarantee from the ledger, compare every hash, re-judge every check."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import weights
from ..accounting.checks import number
from ..accounting.ledger import read_text
from ..errors import CertificationError, ExpungeError
from .document import Certificate, fingerprint
from .hops import guarantee
from .issue import LIMITS
from .signing import unwrap

AGREEMENT = 1e-9  # relative; another version may round the last digits differently


@dataclass(frozen=True)
class Finding:
    """One thing that was verified, in words."""

    name: str
    detail: str


def verify(
    certificate: Certificate | str | Path | bytes,
    model: Any = None,
    *,
    public_key: str | Path | None = None,
) -> list[Finding]:
    """Check a certificate against a model (a module, a state dict, or a weights file); raises, saying exactly why.

    Returns what was verified. Neither data nor training code is needed.
    """
    certificate, signature = _open(certificate, public_key)
    findings = [Finding("signature", signature)]
    if not hmac.compare_digest(fingerprint(certificate), str(certificate["sha256"].get("certificate"))):
        raise CertificationError("the certificate was changed after it was issued: its fingerprint does not match.")
    findings.append(Finding("fingerprint", certificate.sha256))
    if certificate["kind"] != "certificate":
        raise CertificationError(
            "this is a simulation: its noise can be computed from a seed, so it hides nothing. Run again without simulate."
        )
    try:
        findings += [*_guarantee(certificate), *_coverage(certificate), *_checks(certificate)]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise CertificationError(f"the certificate lacks something: {type(error).__name__} {error}.") from error
    if model is not None:
        findings.append(_weights(certificate, model))
    return findings


def load(path: str | Path) -> Certificate:
    """A certificate from its file, signed or not; nothing about it is verified yet."""
    return unwrap(read_text(path), None)[0]


def _open(certificate: Certificate | str | Path | bytes, key: str | Path | None) -> tuple[Certificate, str]:
    if isinstance(certificate, Certificate):
        certificate = certificate.to_bytes()
    return unwrap(certificate if isinstance(certificate, bytes) else read_text(certificate), key)


def _guarantee(certificate: Certificate) -> list[Finding]:
    stated = certificate["guarantee"]
    found = guarantee(certificate["hops"], delta=stated["delta"], accountant=stated["accountant"])
    pairs = {name: (stated[name], found[name]) for name in ("mu", "unconditional_delta")}
    pairs |= {f"epsilon ({name})": (stated["epsilon"][name], found["epsilon"][name]) for name in found["epsilon"]}
    for name, (said, computed) in pairs.items():
        if abs(number(name, said) - computed) > AGREEMENT * computed:
            raise CertificationError(f"{name} is stated as {said:.12g}, and the ledger gives {computed:.12g}.")
    hops, conditional = certificate["hops"], f"epsilon {certificate.epsilon:.6g}, delta {stated['delta']:g}"
    gap, source = hops[-1]["proximity"]["gap"], hops[-1]["proximity"]["source"]
    words = (
        f"{conditional}, recomputed from {len(hops)} ledger(s), if the proximity {gap:g} holds ({source}); "
        f"delta {stated['unconditional_delta']:.4g} in any case"
    )
    return [Finding("guarantee", words)]


def _coverage(certificate: Certificate) -> list[Finding]:
    run, blocks = certificate["run"], certificate["hops"][-1]["blocks"]
    dimensions = [block["dimension"] for block in blocks]
    if dimensions != run["subspace"]["dimensions"] or sum(dimensions) != run["parameters"] or not dimensions:
        raise CertificationError(
            f"the ledger's blocks have {sum(dimensions):,} coordinates, and the model has {run['parameters']:,}."
        )
    return [Finding("coverage", f"{run['parameters']:,} parameters in {len(blocks)} block(s), each in exactly one")]


def _checks(certificate: Certificate) -> list[Finding]:
    found: Mapping[str, Any] = {check["name"]: check for check in certificate["checks"]}
    if missing := [name for name in LIMITS if name not in found]:
        raise CertificationError(f"the check {missing[0]!r} is missing.")
    findings: list[Finding] = []
    for name, check in found.items():
        measured = number(name, check["measured"], least=0.0)
        limit = number(name, check["limit"], least=0.0)
        limit = min(limit, LIMITS.get(name, limit))
        if not measured <= limit:
            raise CertificationError(f"the check {name!r} fails: measured {measured:g}, required at most {limit:g}.")
        findings.append(Finding(name, f"{measured:.3g} ≤ {limit:.3g}: {check['how']}"))
    return findings


def _weights(certificate: Certificate, model: Any) -> Finding:
    state = weights.load(model) if isinstance(model, (str, Path)) else getattr(model, "state_dict", lambda: model)()
    try:
        found = weights.digest(state)
    except ExpungeError as error:
        raise CertificationError(f"the model's weights cannot be compared: {error}") from error
    stated = certificate["sha256"]["output_weights"]
    if not hmac.compare_digest(found, str(stated)):
        raise CertificationError(
            f"these are not the certified weights: their SHA-256 is {found[:16]}…, the certificate's {str(stated)[:16]}…."
        )
    return Finding("weights", f"SHA-256 {found} matches")
