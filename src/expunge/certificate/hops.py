"""The cost of a model's whole history, from its ledgers alone.

A hop is one request: a proximity, the ledger of its run, and how many runs of it were looked at. Looks multiply μ by √n,
hops add (docs/mathematics.md, "Composition").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..accounting import Accountant, Block, Proximity, composition, cost, gaussian, renyi
from ..accounting.checks import whole
from ..accounting.ledger import block_record, read_blocks, read_proximity, read_record
from ..errors import CertificationError, ProximityError

MOST_LOOKS = 1_000_000
FIELDS = ("proximity", "blocks", "looks", "certificate")


def hop(proximity: Proximity, blocks: Sequence[Block], looks: int) -> dict[str, Any]:
    """One request as plain values; `certificate` names the certificate it came from (none: this one)."""
    return {
        "proximity": plain(proximity),
        "blocks": [block_record(block) for block in blocks],
        "looks": looks,
        "certificate": None,
    }


def plain(proximity: Proximity) -> dict[str, Any]:
    """A proximity as plain JSON values."""
    values = {field.name: getattr(proximity, field.name) for field in fields(Proximity)}
    return values | {"assumptions": list(proximity.assumptions), "gaps": proximity.gaps and list(proximity.gaps)}


def guarantee(hops: Sequence[Mapping[str, Any]], *, delta: float, accountant: Accountant) -> dict[str, Any]:
    """μ, ε and δ of all hops, recomputed."""
    costs: list[float] = []
    failures: list[float] = []
    for index, values in enumerate(hops):
        record = read_record(values, f"hops[{index}]", required=FIELDS)
        proximity = read_proximity(record["proximity"])
        if proximity.requests != index + 1:
            raise ProximityError(f"hops[{index}] rests on a proximity of request {proximity.requests}.")
        looks = whole(f"hops[{index}].looks", record["looks"], most=MOST_LOOKS)
        costs.append(composition.repeated_looks(cost(proximity, read_blocks(record["blocks"])), looks))
        failures.append(proximity.failure)
    if not costs:
        raise CertificationError("the certificate has no hop: nothing was run.")
    total = composition.successive_requests(costs) if len(costs) > 1 else costs[0]
    failure = composition.successive_failure(costs, failures)
    return {
        "mu": total,
        "delta": delta,
        "unconditional_delta": min(1.0, math.nextafter(delta + failure, 2.0)) if failure > 0.0 else delta,
        "epsilon": {"gaussian": gaussian.epsilon(total, delta), "renyi": renyi.epsilon(total, delta)},
        "accountant": accountant,
    }
