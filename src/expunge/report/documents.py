"""The documents of other rooms, as far as the page shows them: certificate, verification, calibration, comparison."""

from dataclasses import dataclass
from typing import Any, Literal

from .reading import Open

Phase = Literal["bases", "clean", "noise", "statistics", "fine-tune"]


@dataclass(frozen=True)
class Target:
    """The privacy that was asked for."""

    epsilon: float
    delta: float
    accountant: str = "gaussian"


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
