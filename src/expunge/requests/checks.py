"""What a ledger on disk must hold: certificates that verify, belong to their requests and hang together, and the weights."""

import json
from typing import TYPE_CHECKING

import torch

from .. import certificate as certificates
from .. import weights
from ..accounting import Proximity
from ..accounting.ledger import read_proximity
from ..certificate import Certificate
from ..errors import DataError
from ..workloads import index_sha256

if TYPE_CHECKING:
    from .ledger import Ledger


def anchored(proximity: Proximity) -> bool:
    """Whether it holds wherever the run began: certain, and at the end of a clean phase that a gradient norm ends."""
    entry = None if proximity.entry is None else json.loads(proximity.entry)
    return proximity.failure == 0.0 and proximity.requests == 1 and bool(entry and entry.get("until"))


def verify(ledger: "Ledger") -> None:
    """Raise where a request is not what its certificate certifies."""
    gone: list[int] = []
    for count, request in enumerate(ledger.requests, start=1):
        found = ledger.certificate(count)
        certificates.verify(found)
        gone += request["forget"]
        said = (request["certificate"], request["weights"], index_sha256(torch.tensor(gone)))
        if said != (found.sha256, found["sha256"]["output_weights"], found["sha256"]["forget_set"]):
            raise DataError(f"request {count} is not what its certificate certifies: the ledger was changed.")
        _refuse_broken_chain(ledger, count, found)
    if weights.digest(weights.load(ledger.weights_file)) != ledger.current_sha256:
        raise DataError(f"{ledger.weights_file} is not what the last request left.")


def _refuse_broken_chain(ledger: "Ledger", count: int, found: Certificate) -> None:
    """An anchored request begins anew; any other goes on from the certificate before it."""
    before = None if count == 1 else ledger.requests[count - 2]["certificate"]
    alone = found["sha256"]["parent"] is None and anchored(read_proximity(found["hops"][-1]["proximity"]))
    if found["sha256"]["parent"] != before and not alone:
        raise DataError(f"request {count} neither continues the one before it nor stands alone.")
