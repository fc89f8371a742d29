"""The certificate as a document: one JSON object in one canonical form, with its own SHA-256 inside.

    guarantee   μ, ε by both accountants, δ, and δ with the proximity's failure: recomputed from `hops`, never trusted
    hops        per request on this model, oldest first: proximity, ledger, looks; the last is this run
    checks      every assumption that was measured, against its limit
    run         how it was carried out, and what was measured on the way
    sha256      of the weights before and after, the forget set, the plan, the parent, and of this document itself

No seed of the noise, no data.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..accounting.ledger import parse
from ..errors import DataError

SCHEMA = "expunge.certificate/1"
FIELDS = ("schema", "kind", "guarantee", "target", "hops", "checks", "run", "sha256", "software", "created", "caveats")

CAVEATS = [
    "Everything is conditional on the proximity in the last of `hops`; the unconditional delta adds its failure.",
    "The model is indistinguishable from one retrained without the data and put through the same unlearning, "
    "which says nothing about its accuracy.",
    "The Gaussian mechanism is analysed over the real numbers; noise was added to floating-point numbers.",
    "The proximity was calibrated for requests that do not depend on the released model.",
    "Hyper-parameters must have been chosen before the request, or on calibration pairs or held-out retained data.",
]


class Certificate(Mapping[str, Any]):
    """A certificate, read like a dict. It does not change: `recertify` makes a new one."""

    def __init__(self, document: Mapping[str, Any], *, envelope: bytes | None = None) -> None:
        self._document = dict(document)
        self.envelope = envelope  # the signed form, where there is one

    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    def __repr__(self) -> str:
        promise = self["guarantee"]
        return f"<{self['kind']}: epsilon {promise['epsilon'][promise['accountant']]:.6g}, delta {promise['delta']:g}>"

    @property
    def epsilon(self) -> float:
        """ε by the accountant that the plan chose."""
        return self["guarantee"]["epsilon"][self["guarantee"]["accountant"]]

    @property
    def mu(self) -> float:
        """The cost of everything so far."""
        return self["guarantee"]["mu"]

    @property
    def delta(self) -> float:
        """δ, given the proximity."""
        return self["guarantee"]["delta"]

    @property
    def sha256(self) -> str:
        """The document's own fingerprint."""
        return self["sha256"]["certificate"]

    def to_bytes(self) -> bytes:
        """What is saved: the signed envelope where there is one, else the canonical document."""
        return self.envelope if self.envelope is not None else canonical(self._document) + b"\n"

    def save(self, path: str | Path) -> None:
        """Write the certificate."""
        Path(path).write_bytes(self.to_bytes())


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one way this document is written."""
    try:
        return json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise DataError(f"the certificate cannot be written: {error}.") from error


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its fingerprint in place."""
    return {**document, "sha256": {**document["sha256"], "certificate": fingerprint(document)}}


def fingerprint(document: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical document without its own fingerprint."""
    hashes = {name: value for name, value in document["sha256"].items() if name != "certificate"}
    return hashlib.sha256(canonical({**document, "sha256": hashes})).hexdigest()


def read_document(content: bytes) -> dict[str, Any]:
    """A canonical document's values; anything that is not byte for byte canonical is refused."""
    document = parse(content)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise DataError(f"this is no certificate that this version of Expunge reads (schema {SCHEMA!r}).")
    if tuple(sorted(document)) != tuple(sorted(FIELDS)):
        raise DataError(
            f"a certificate has the fields {', '.join(FIELDS)}; this one has {', '.join(sorted(document))}."
        )
    if canonical(document) + b"\n" != content:
        raise DataError("the certificate is not in its canonical form: it was edited or reformatted.")
    return document
