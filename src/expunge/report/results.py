"""What a report is made from: JSON, schema "expunge.results/1". The dataclasses are the schema.

Everything but `schema`, `created` and `asked` may be absent or null, which means: not measured. The report says so then.
`certificate`, `verification`, `calibration` and `comparison` are the documents of other rooms, whole and unchanged; only
what the page shows is read from them. Rates and accuracies are fractions, 0 to 1; times are seconds.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import DataError
from .reading import Open, read, read_json

SCHEMA = "expunge.results/1"
Phase = Literal["clean", "noise", "statistics", "fine-tune"]


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
class Target:
    """The privacy that was asked for."""

    epsilon: float
    delta: float
    accountant: str = "gaussian"


@dataclass(frozen=True)
class Asked:
    """The request. `project` is its title."""

    project: str
    model: Model
    data: Data
    deletion: Deletion
    target: Target


# The certificate (expunge.certificate/1) and its verification (expunge.verification/1)


@dataclass(frozen=True)
class Guarantee(Open):
    """μ, and (ε, δ) with and without the proximity's condition."""

    mu: float
    delta: float
    unconditional_delta: float
    epsilon: dict[str, float]
    accountant: str


@dataclass(frozen=True)
class Proximity(Open):
    """‖x̂ − x̂′‖ ≤ gap, but for a probability of `failure`."""

    gap: float
    failure: float
    source: str
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step(Open):
    """One noisy step, `count` times."""

    step_size: float
    weight_decay: float
    clip: float
    sigma: float
    count: int = 1


@dataclass(frozen=True)
class Block(Open):
    """One block of the ledger."""

    steps: tuple[Step, ...]
    dimension: int | None = None


@dataclass(frozen=True)
class Hop(Open):
    """One request on this model."""

    proximity: Proximity
    blocks: tuple[Block, ...]
    looks: int


@dataclass(frozen=True)
class Check(Open):
    """An assumption as it was measured: holds where measured ≤ limit."""

    name: str
    measured: float
    limit: float
    how: str


@dataclass(frozen=True)
class Certificate(Open):
    """The certificate's document, as far as the page shows it."""

    schema: Literal["expunge.certificate/1"]
    kind: Literal["certificate", "simulation"]
    guarantee: Guarantee
    target: Target
    hops: tuple[Hop, ...]
    checks: tuple[Check, ...]
    run: dict[str, Any]
    sha256: dict[str, str | None]
    software: dict[str, str]
    created: str
    caveats: tuple[str, ...]

    @property
    def epsilon(self) -> float:
        """ε by the accountant that the plan chose."""
        return self.guarantee.epsilon[self.guarantee.accountant]

    @property
    def proximity(self) -> Proximity:
        """Of this request."""
        return self.hops[-1].proximity


@dataclass(frozen=True)
class Found(Open):
    """One thing that was verified, in words."""

    name: str
    detail: str


@dataclass(frozen=True)
class Verification(Open):
    """What `expunge verify --json` answered."""

    valid: bool
    weights_compared: bool = False
    found: tuple[Found, ...] = ()
    reason: str | None = None

    def detail(self, name: str) -> str | None:
        """What was found under a name."""
        return next((found.detail for found in self.found if found.name == name), None)


# Calibration (expunge.calibration/1)


@dataclass(frozen=True)
class Gap(Open):
    """A distance between the two models of a pair."""

    total: float


@dataclass(frozen=True)
class Moment(Open):
    """A pair's gap at one training step; `metrics` holds those of the runs "base" and "retained"."""

    step: int
    gap: Gap
    metrics: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Pair(Open):
    """One coupled pair; `failed` says why it has no gap."""

    pair: int
    gap: Gap | None = None
    gap_as_trained: Gap | None = None
    trajectory: tuple[Moment, ...] = ()
    seconds: float | None = None
    failed: str | None = None


@dataclass(frozen=True)
class Calibration(Open):
    """The proximity file."""

    proximity: Proximity
    says: str
    pairs: tuple[Pair, ...]


# Comparison (expunge.comparison/1)


@dataclass(frozen=True)
class Accuracy(Open):
    """Accuracy on the parts of the data."""

    forget: float | None = None
    retain: float | None = None
    test: float | None = None
    test_retained_classes: float | None = None


@dataclass(frozen=True)
class Attack(Open):
    """One membership-inference attack; each gives what it can."""

    efficacy: float | None = None
    auc: float | None = None
    interval: tuple[float, float] | None = None
    tpr_at_1: float | None = None
    tpr_at_01: float | None = None
    roc: tuple[tuple[float, float], ...] | None = None


@dataclass(frozen=True)
class Distance(Open):
    """How far the outputs and weights are from those of a retrained model."""

    kl: float | None = None
    disagreement: float | None = None
    weights: float | None = None


@dataclass(frozen=True)
class Audit(Open):
    """What an attacker or a critic measures."""

    accuracy: Accuracy | None = None
    mia: dict[str, Attack] | None = None
    to_retrained: Distance | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Point(Open):
    """One step of a run. `test_accuracy` is null where it was not measured."""

    phase: Phase
    step: int
    block: int | None = None
    loss: float | None = None
    test_accuracy: float | None = None


@dataclass(frozen=True)
class Row(Open):
    """One method with one seed."""

    method: str
    kind: Literal["certified", "exact", "empirical"]
    seed: int
    seconds: float | None = None
    steps: int | None = None
    samples: int | None = None
    curve: tuple[Point, ...] | None = None
    audit: Audit | None = None


@dataclass(frozen=True)
class Comparison(Open):
    """Every method on the same request."""

    rows: tuple[Row, ...]
    machine: dict[str, Any] | None = None
    command: str | None = None


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
    _refuse_contradictions(results)
    return results


def _refuse_contradictions(results: Results) -> None:
    """A page must not call a certificate valid because of the verification of another one."""
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
