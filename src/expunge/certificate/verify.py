"""Trust nobody: recompute the guarantee from the ledger, judge every check again, compare every hash."""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import weights
from ..accounting.checks import number
from ..accounting.ledger import read_blocks, read_proximity, read_text
from ..errors import CertificationError, ConfigError, ExpungeError
from .checks import judge, refuse_other_entry
from .document import Certificate, fingerprint
from .hops import guarantee
from .signing import unwrap

AGREEMENT = 1e-9  # relative; another version may round the last digits differently
HASHES = ("certificate", "input_weights", "output_weights", "forget_set", "plan", "parent")


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
    reference: Any = None,
) -> list[Finding]:
    """Check a certificate against a model (a module, a state dict, or a weights file); raises, saying exactly why.

    Returns what was verified. Neither data nor training code is needed. Of reset blocks the public `reference` (a module,
    its parameters, or the published file) can be compared too.
    """
    content = _content(certificate)
    try:
        document, signature = unwrap(content, public_key)
        findings = [Finding("signature", signature), *_verify(document)]
        findings += [] if reference is None else [_reference(document, reference)]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        if isinstance(error, ExpungeError):
            raise
        raise CertificationError(
            f"the certificate is malformed ({type(error).__name__}: {str(error)[:100]})."
        ) from error
    return findings if model is None else [*findings, _weights(document, model)]


def load(path: str | Path) -> Certificate:
    """A certificate from its file, signed or not; nothing about it is verified yet."""
    return unwrap(read_text(path), None)[0]


def _content(certificate: object) -> bytes:
    if isinstance(certificate, Certificate):
        return certificate.to_bytes()
    if isinstance(certificate, (str, Path)):
        return read_text(certificate)
    if isinstance(certificate, bytes):
        return certificate
    raise ConfigError(f"certificate must be a path, bytes or a Certificate; got {type(certificate).__name__}.")


def _verify(certificate: Certificate) -> list[Finding]:
    _hashes(certificate)
    if certificate["kind"] != "certificate" or certificate["run"]["simulated"] is not False:
        raise CertificationError(
            "this is a simulation: its noise can be computed from a seed, so it hides nothing. Run again without simulate."
        )
    blocks = read_blocks(certificate["hops"][-1]["blocks"])
    refuse_other_entry(read_proximity(certificate["hops"][-1]["proximity"]), certificate["run"])
    found = judge(certificate["run"], blocks)
    if found != certificate["checks"]:
        raise CertificationError("the checks are not those that the run's measurements give.")
    return [
        Finding("fingerprint", certificate.sha256),
        _guarantee(certificate),
        Finding("blocks", f"{certificate['run']['parameters']:,} parameters in {len(blocks)} block(s)"),
        *(Finding(c["name"], f"{c['measured']:.3g} ≤ {c['limit']:.3g}: {c['how']}") for c in found),
    ]


def _hashes(certificate: Certificate) -> None:
    hashes: Mapping[str, Any] = certificate["sha256"]
    if set(hashes) != set(HASHES):
        raise CertificationError(f"a certificate names the hashes {', '.join(HASHES)}; this one {', '.join(hashes)}.")
    for name, value in hashes.items():
        optional = name in ("forget_set", "plan", "parent")
        if not (optional and value is None) and not re.fullmatch("[0-9a-f]{64}", str(value), re.ASCII):
            raise CertificationError(f"sha256.{name} is no SHA-256: {value!r:.80}.")
    if not hmac.compare_digest(fingerprint(certificate), hashes["certificate"]):
        raise CertificationError("the certificate was changed after it was issued: its fingerprint does not match.")


def _guarantee(certificate: Certificate) -> Finding:
    stated, hops = certificate["guarantee"], certificate["hops"]
    found = guarantee(hops, delta=stated["delta"], accountant=stated["accountant"])
    pairs = {name: (stated[name], found[name]) for name in ("mu", "unconditional_delta")}
    pairs |= {f"epsilon ({name})": (stated["epsilon"][name], found["epsilon"][name]) for name in found["epsilon"]}
    for name, (said, computed) in pairs.items():
        if abs(number(name, said) - computed) > AGREEMENT * computed:
            raise CertificationError(f"{name} is stated as {said:.12g}, and the ledger gives {computed:.12g}.")
    if (stated["delta"], stated["accountant"]) != (certificate["target"]["delta"], certificate["target"]["accountant"]):
        raise CertificationError(
            "the guarantee is stated at another delta, or by another accountant, than was asked for."
        )
    if len(hops) == hops[0]["looks"] == 1 and certificate.epsilon > certificate["target"]["epsilon"] * (
        1.0 + AGREEMENT
    ):
        raise CertificationError("the run costs more than was asked for.")
    proximity = hops[-1]["proximity"]
    return Finding(
        "guarantee",
        f"epsilon {certificate.epsilon:.6g}, delta {stated['delta']:g}, recomputed from {len(hops)} ledger(s), if the "
        f"proximity {proximity['gap']:g} holds ({proximity['source']}); "
        f"delta {stated['unconditional_delta']:.4g} in any case",
    )


def _reference(certificate: Certificate, reference: Any) -> Finding:
    if certificate["run"].get("reset") is None:
        raise ConfigError("the certificate is of a run without reset blocks, which has no reference. Leave it out.")
    values: Any = weights.load(reference) if isinstance(reference, (str, Path)) else reference
    values = dict(values.named_parameters()) if hasattr(values, "named_parameters") else values
    if not isinstance(values, Mapping):
        raise ConfigError(f"reference must be a module, its parameters or a path; got {type(reference).__name__}.")
    found, stated = weights.digest(values), certificate["run"]["subspace"]["reference"]["sha256"]
    if not hmac.compare_digest(found, stated):
        raise CertificationError(
            f"this is not the reference of the run: its SHA-256 is {found[:16]}…, the certificate's {stated[:16]}…."
        )
    return Finding("reference weights", f"SHA-256 {found} matches")


def _weights(certificate: Certificate, model: Any) -> Finding:
    state: Any = weights.load(model) if isinstance(model, (str, Path)) else model
    state = weights.state_of(state) if hasattr(state, "state_dict") else state
    if not isinstance(state, Mapping):
        raise ConfigError(f"model must be a module, a state dict or a path; got {type(model).__name__}.")
    found, stated = weights.digest(state), certificate["sha256"]["output_weights"]
    if not hmac.compare_digest(found, stated):
        raise CertificationError(
            f"these are not the certified weights: their SHA-256 is {found[:16]}…, the certificate's {stated[:16]}…. "
            "Ask for the model that was certified, or for the certificate of this one."
        )
    return Finding("weights", f"SHA-256 {found} matches")
