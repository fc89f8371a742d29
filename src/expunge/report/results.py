"""What a report is made from: JSON, schema "expunge.results/1". The dataclasses are the schema.

Everything but `schema`, `created` and `asked` may be absent or null, which means: not measured. The report says so then.
`certificate`, `verification`, `calibration` and `comparison` are the documents of other rooms, whole and unchanged; only
what the page shows is read from them. Rates and accuracies are fractions, 0 to 1; times are seconds.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import DataError
from .documents import Calibration, Certificate, Comparison, Point, Target, Verification
from .reading import read, read_json

SCHEMA = "expunge.results/1"


# What was asked


@dataclass(frozen=True)
class Model:
    """The model that the request is about; `accuracy` is its test accuracy as trained."""

    name: str
    parameters: int
    accuracy: float | None = None


@dataclass(frozen=True)
class Data:
    """The data it was trained on: how many samples, and how many more to test with."""

    name: str
    training: int
    test: int | None = None


@dataclass(frozen=True)
class Deletion:
    """What had to go: `says` in a few words ("a random 10 %"), how many samples."""

    kind: str
    says: str
    removed: int


@dataclass(frozen=True)
class Asked:
    """The request. `project` is its title."""

    project: str
    model: Model
    data: Data
    deletion: Deletion
    target: Target


# What the report alone reads


@dataclass(frozen=True)
class Curves:
    """What else the same ledger is worth: (δ, ε) at the proximity used; (Δ, ε) at the δ used."""

    privacy: tuple[tuple[float, float], ...]
    recertification: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Scale:
    """A block or a layer: how many numbers, the norm of the noise that it holds, the norm of its weights before."""

    name: str
    dimension: int
    noise: float
    weights: float


@dataclass(frozen=True)
class Signal:
    """Noise against weight scale."""

    blocks: tuple[Scale, ...]
    layers: tuple[Scale, ...]


@dataclass(frozen=True)
class Expense:
    """What one stage took (training, calibration, unlearning, retraining …); `once`: not paid again by the next request."""

    stage: str
    seconds: float
    steps: int | None = None
    once: bool = False


@dataclass(frozen=True)
class Results:
    """One request, from asked to audited."""

    schema: Literal["expunge.results/1"]
    created: str
    asked: Asked
    method: str | None = None  # the comparison's name of the method that the certificate is of
    refused: str | None = None  # why there is no certificate
    command: str | None = None
    certificate: Certificate | None = None
    verification: Verification | None = None
    calibration: Calibration | None = None
    plan: dict[str, Any] | None = None
    comparison: Comparison | None = None
    curves: Curves | None = None
    signal: Signal | None = None
    progress: tuple[Point, ...] | None = None
    cost: tuple[Expense, ...] | None = None


def load(path: str | Path) -> Results:
    """The results in a file."""
    return from_dict(read_json(path))


def from_dict(values: object) -> Results:
    """Results from plain JSON values, or a DataError that says where they are wrong."""
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        found = values.get("schema") if isinstance(values, dict) else values
        raise DataError(f"this is no results file: its schema must be {SCHEMA!r}; got {found!r:.60}.")
    results = read(Results, values, "results")
    _refuse_contradictions(results, values.get("certificate"))
    return results


def _refuse_contradictions(results: Results, document: Any) -> None:
    """A page must not call a certificate valid because of the verification of another one, or of what it was before."""
    certificate, verification = results.certificate, results.verification
    if certificate is None:
        if verification is not None and verification.valid:
            raise DataError("results.verification says valid, and there is no certificate.")
        return
    if not certificate.hops:
        raise DataError("results.certificate.hops must have at least one entry; got none.")
    if certificate.guarantee.accountant not in certificate.guarantee.epsilon:
        raise DataError("results.certificate.guarantee.epsilon lacks the accountant that the certificate names.")
    if verification is not None and verification.valid:
        if certificate.kind != "certificate":
            raise DataError("results.verification says valid, and the certificate is a simulation.")
        if verification.detail("fingerprint") != certificate.sha256.get("certificate"):
            raise DataError("results.verification is of another certificate: the fingerprints differ.")
        if fingerprint(document) != certificate.sha256.get("certificate"):
            raise DataError("results.certificate was changed after it was verified: its fingerprint does not match.")


def fingerprint(document: dict[str, Any]) -> str:
    """SHA-256 of a certificate as it was written, but for its own fingerprint: as the certificate room computes it."""
    hashes = {name: value for name, value in document["sha256"].items() if name != "certificate"}
    text = json.dumps({**document, "sha256": hashes}, sort_keys=True, indent=1, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
