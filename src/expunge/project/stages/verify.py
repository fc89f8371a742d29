"""Check the certificate against the new weights, as an auditor would."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from .unlearn import CERTIFICATE, UNLEARNED

if TYPE_CHECKING:
    from ..stage import Work

VERIFICATION = "verification.json"


def verify(work: "Work") -> str:
    """Leaves what was found; raises where the certificate does not hold."""
    from ... import certificate

    found = certificate.verify(work.path(CERTIFICATE), work.path(UNLEARNED))
    document = {"schema": "expunge.verification/1", "valid": True, "weights_compared": True}
    work.write_json(VERIFICATION, {**document, "found": [asdict(finding) for finding in found]})
    return f"valid, {len(found)} findings"
