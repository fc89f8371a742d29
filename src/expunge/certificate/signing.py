"""Signed certificates in the form that supply-chain tools read: an in-toto Statement in a DSSE envelope, Ed25519.

The statement's subject is the weights' SHA-256, its predicate the certificate. Keys are PEM files as openssl writes them:
`openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out public.pem`.
"""

import json
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey  # pyright: ignore[reportPrivateImportUsage]

from ..accounting.ledger import parse, read_text
from ..errors import CertificationError, DataError
from .document import Certificate, canonical, read_document

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:expunge:certificate:v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def sign(certificate: Certificate, private_key: str | Path) -> Certificate:
    """The same certificate in a signed envelope."""
    key = _key(load_pem_private_key, private_key, None)
    if not isinstance(key, Ed25519PrivateKey):
        raise DataError(f"{private_key} is no Ed25519 private key. Make one: openssl genpkey -algorithm ed25519.")
    envelope = Envelope(_statement(certificate), PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key))
    return Certificate(dict(certificate), envelope=_envelope_bytes(envelope))


def unwrap(content: bytes, public_key: str | Path | None) -> tuple[Certificate, str]:
    """The certificate in a file's bytes, and a sentence on its signature; raises where the signature is wrong."""
    values = parse(content)
    if not isinstance(values, dict) or "payload" not in values:
        if public_key is not None:
            raise CertificationError("the certificate is not signed, and a public key was given to check it with.")
        return Certificate(read_document(content)), "not signed"
    if set(values) != {"payload", "payloadType", "signatures"} or not _one_signature(values["signatures"]):
        raise DataError("the signed envelope is not as Expunge writes it.")
    try:
        envelope = Envelope.from_dict(values)
        canonical_form = _envelope_bytes(envelope) == content
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"the signed envelope is damaged ({type(error).__name__}: {error}).") from error
    if not canonical_form or envelope.payload_type != PAYLOAD_TYPE or len(envelope.signatures) != 1:
        raise DataError("the signed envelope was edited: it is not as Expunge writes it.")
    said = _check_signature(envelope, public_key)
    certificate = Certificate(_predicate(envelope.payload), envelope=content)
    if _statement(certificate) != envelope.payload:
        raise DataError("the signed statement does not match its certificate.")
    return certificate, said


def _one_signature(signatures: Any) -> bool:
    return (
        isinstance(signatures, list)
        and len(signatures) == 1
        and isinstance(signatures[0], dict)
        and set(signatures[0]) == {"keyid", "sig"}
        and all(isinstance(value, str) for value in signatures[0].values())
    )


def _check_signature(envelope: Envelope, public_key: str | Path | None) -> str:
    keyid = next(iter(envelope.signatures))
    if public_key is None:
        return f"signed with key {keyid[:16]}…, NOT checked: give the signer's public key"
    key = _key(load_pem_public_key, public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise DataError(f"{public_key} is no Ed25519 public key (PEM).")
    try:
        envelope.verify([SSlibKey.from_crypto(key)], 1)
    except VerificationError as error:
        raise CertificationError(
            f"the signature is not by the key in {public_key}, or the content was changed."
        ) from error
    return f"signed with key {keyid[:16]}…, which is the one in {public_key}"


def _statement(certificate: Certificate) -> bytes:
    return canonical(
        {
            "_type": STATEMENT,
            "subject": [{"name": "weights", "digest": {"sha256": certificate["sha256"]["output_weights"]}}],
            "predicateType": PREDICATE,
            "predicate": dict(certificate),
        }
    )


def _predicate(payload: bytes) -> dict[str, Any]:
    statement = parse(payload)
    if not isinstance(statement, dict) or not isinstance(statement.get("predicate"), dict):
        raise DataError("the signed statement holds no certificate.")
    return read_document(canonical(statement["predicate"]) + b"\n")


def _envelope_bytes(envelope: Envelope) -> bytes:
    return json.dumps(envelope.to_dict(), sort_keys=True, indent=1).encode() + b"\n"


def _key(load: Any, path: str | Path, *arguments: Any) -> Any:
    try:
        return load(read_text(path), *arguments)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise DataError(f"{path} is no key in PEM form, or it is encrypted ({error}).") from error
