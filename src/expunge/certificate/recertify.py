"""The same run under another proximity: a new certificate that names its parent, the model untouched."""

from dataclasses import replace

from ..accounting import Proximity
from ..accounting.checks import whole
from ..accounting.ledger import read_proximity
from ..accounting.proximity import given
from ..errors import ProximityError
from .document import Certificate, sealed
from .hops import guarantee, plain
from .issue import now, software
from .verify import verify


def recertify(
    certificate: Certificate, *, proximity: Proximity | float, delta: float | None = None, looks: int | None = None
) -> Certificate:
    """Recompute what the ledger is worth at `proximity` (and, if given, at another δ, or with more looks counted)."""
    verify(certificate)
    *earlier, last = certificate["hops"]
    before = read_proximity(last["proximity"])
    if not isinstance(proximity, Proximity):
        proximity = replace(given(proximity), requests=before.requests, entry=before.entry, design=before.design)
    if proximity.design not in (None, before.design):
        raise ProximityError("the new proximity was calibrated for another design than the run's. Calibrate the same.")
    if (proximity.requests, proximity.entry) != (before.requests, before.entry):
        raise ProximityError(
            f"the run's proximity is that of request {before.requests} at entry {before.entry or 'as trained'}; the new one "
            f"was calibrated for request {proximity.requests} at entry {proximity.entry or 'as trained'}."
        )
    looks = last["looks"] if looks is None else whole("looks", looks, least=last["looks"])
    hops = [*earlier, {**last, "proximity": plain(proximity), "looks": looks}]
    stated = certificate["guarantee"]
    found = guarantee(hops, delta=stated["delta"] if delta is None else delta, accountant=stated["accountant"])
    document = {
        **certificate,
        "hops": hops,
        "guarantee": found,
        "target": {**certificate["target"], "epsilon": found["epsilon"][stated["accountant"]], "delta": found["delta"]},
        "sha256": {**certificate["sha256"], "parent": certificate.sha256},
        "software": software(),
        "created": now(),
    }
    return Certificate(sealed(document))
