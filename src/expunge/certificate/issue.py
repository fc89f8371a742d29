"""Ledger → certificate. What is certified is computed from what was done; the plan is only what was promised."""

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..accounting import Accountant, Block, Proximity
from ..errors import BudgetError, ProximityError
from .document import CAVEATS, SCHEMA, Certificate, sealed
from .hops import guarantee, hop

LIMITS = {
    "coverage": 0.0,
    "decomposition": 1e-5,
    "other blocks": 1e-4,
    "clip": 1.0,
    "noise variance": 1.0,
    "precision": 2.0**-23,
    "retained data": 0.0,
    "public state": 0.0,
}


def issue(
    *,
    proximity: Proximity,
    blocks: Sequence[Block],
    epsilon: float,
    delta: float,
    accountant: Accountant,
    checks: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any],
    sha256: Mapping[str, str | None],
    simulated: bool,
    looks: int = 1,
    after: Certificate | None = None,
) -> Certificate:
    """Certify a run, or refuse. `after` is the certificate of the model that this request started from."""
    earlier = _earlier(after, sha256["input_weights"])
    if proximity.requests != len(earlier) + 1:
        raise ProximityError(
            f"this is request {len(earlier) + 1} on the model, and its proximity was calibrated for request "
            f"{proximity.requests}. Calibrate the whole pipeline: training and all earlier unlearning, with its fine-tuning."
        )
    hops = [*earlier, hop(proximity, blocks, looks)]
    promise = guarantee(hops, delta=delta, accountant=accountant)
    if not earlier and looks == 1 and promise["epsilon"][accountant] > epsilon:
        raise BudgetError(
            f"the run costs epsilon = {promise['epsilon'][accountant]:.9g}, more than the {epsilon:.9g} that was asked for."
        )
    document = {
        "schema": SCHEMA,
        "kind": "simulation" if simulated else "certificate",
        "guarantee": promise,
        "target": {"epsilon": epsilon, "delta": delta, "accountant": accountant},
        "hops": hops,
        "checks": [dict(check) for check in checks],
        "run": dict(run),
        "sha256": {**sha256, "parent": None if after is None else after.sha256},
        "software": software(),
        "created": now(),
        "caveats": CAVEATS,
    }
    return Certificate(sealed(document))


def _earlier(after: Certificate | None, input_weights: str | None) -> list[dict[str, Any]]:
    if after is None:
        return []
    if after["sha256"]["output_weights"] != input_weights:
        raise ProximityError(
            "the model is not the one that `after` certifies: its weights differ. Successive requests must start from the "
            "certified weights, unchanged."
        )
    if after["kind"] != "certificate":
        raise ProximityError("`after` is a simulation; what follows it cannot be certified.")
    return [{**values, "certificate": values["certificate"] or after.sha256} for values in after["hops"]]


def software() -> dict[str, str]:
    """Versions of what computed this."""
    return {"python": platform.python_version()} | {
        name: _version(name) for name in ("expunge", "torch", "cryptography")
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def now() -> str:
    """The time, in UTC, to the second."""
    return datetime.now(timezone.utc).replace(microsecond=0).isoformat().replace("+00:00", "Z")
