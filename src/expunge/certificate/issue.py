"""Ledger → certificate. What is certified is computed from what was done; the plan is only what was promised."""

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..accounting import Accountant, Block, Proximity
from ..accounting.checks import whole
from ..errors import BudgetError, ProximityError
from .checks import judge, refuse_other_entry
from .document import CAVEATS, SCHEMA, Certificate, sealed
from .hops import MOST_LOOKS, guarantee, hop


def issue(
    *,
    proximity: Proximity,
    blocks: Sequence[Block],
    epsilon: float,
    delta: float,
    accountant: Accountant,
    run: Mapping[str, Any],
    sha256: Mapping[str, str | None],
    simulated: bool,
    looks: int = 1,
    after: Certificate | None = None,
) -> Certificate:
    """Certify a run, or refuse. `after` is the certificate of the model that this request started from."""
    earlier = history(proximity, sha256["input_weights"], looks=looks, after=after)
    refuse_other_entry(proximity, run)
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
        "checks": judge(run, blocks),
        "run": dict(run),
        "sha256": {**sha256, "parent": None if after is None else after.sha256},
        "software": software(),
        "created": now(),
        "caveats": CAVEATS,
    }
    return Certificate(sealed(document))


def history(
    proximity: Proximity, input_weights: str | None, *, looks: int, after: Certificate | None
) -> list[dict[str, Any]]:
    """The earlier hops of the model that a run starts from; refuses what could never be certified."""
    whole("looks", looks, most=MOST_LOOKS)
    earlier = [] if after is None else after["hops"]
    if proximity.requests != len(earlier) + 1:
        raise ProximityError(
            f"this is request {len(earlier) + 1} on the model, and its proximity was calibrated for request "
            f"{proximity.requests}. Calibrate the whole pipeline: training and all earlier unlearning, with its fine-tuning."
        )
    if after is None:
        return []
    if after["kind"] != "certificate":
        raise ProximityError("`after` is a simulation; what follows it cannot be certified.")
    if after["sha256"]["output_weights"] != input_weights:
        raise ProximityError(
            "the model is not the one that `after` certifies: its weights differ. Successive requests must start from the "
            "certified weights, unchanged."
        )
    return [{**values, "certificate": values["certificate"] or after.sha256} for values in earlier]


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
