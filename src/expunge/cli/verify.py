"""`expunge verify`: the auditor's command. Needs neither data nor training code."""

import sys
from pathlib import Path
from typing import NoReturn

from ..accounting.ledger import read_text
from ..errors import CertificationError, ExpungeError
from .output import print_facts, print_json


def verify(certificate: Path, *, weights: Path | None = None, key: Path | None = None, json: bool = False) -> None:
    """Recompute a certificate from its ledger, and compare it with a model's weights. Exit code 0: valid, 1: not.

    Parameters
    ----------
    certificate
        The certificate, signed or not.
    weights
        The weights it should be about: .safetensors, or a state_dict saved by torch.save.
    key
        The signer's Ed25519 public key (PEM).
    json
        Print one JSON object.
    """
    from .. import certificate as certificates
    from .. import weights as weight_files

    content = read_text(certificate)
    state = None if weights is None else weight_files.load(weights)
    try:
        findings = certificates.verify(content, state)
    except ExpungeError as error:
        _refuse(error, json)
    if key is not None:  # all else is in order: a CertificationError is about the signature, another about the key
        try:
            findings[0] = certificates.verify(content, public_key=key)[0]
        except CertificationError as error:
            _refuse(error, json)
    if json:
        compared = state is not None
        found = [{"name": finding.name, "detail": finding.detail} for finding in findings]
        print_json({"schema": "expunge.verification/1", "valid": True, "weights_compared": compared, "found": found})
        return
    print_facts([(finding.name, finding.detail) for finding in findings])
    print(f"\n{_verdict(compared=state is not None, signature=findings[0].detail)}")


def _verdict(*, compared: bool, signature: str) -> str:
    """The answer, what it follows from, and what no file can show."""
    answer = (
        "VALID: the guarantee follows from the ledger, every check is within its limit, and these are the certified weights."
        if compared
        else "VALID as a document. No weights were given, so none were compared."
    )
    unchecked = (
        "it is signed, but not checked against a key" if "NOT checked" in signature else "the signer answers for it"
    )
    who = "nobody has signed it" if signature == "not signed" else unchecked
    return (
        f"{answer}\nNot shown: that the ledger says what was run ({who}), and that no other copy of the model is left."
    )


def _refuse(error: ExpungeError, json: bool) -> NoReturn:
    if json:
        print_json({"schema": "expunge.verification/1", "valid": False, "reason": str(error)})
        sys.exit(1)
    raise CertificationError(f"NOT VALID: {error}") from error
