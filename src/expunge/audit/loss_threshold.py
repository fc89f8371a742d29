"""The loss threshold attack (Yeom et al. 2018): what has a low loss was trained on.

Non-members are test samples of the forgotten samples' classes. It needs no other model, and so cannot tell easy samples from
remembered ones.
"""

from typing import Any

from . import roc
from .outputs import Outputs
from .signals import loss


def loss_threshold(outputs: Outputs) -> dict[str, Any]:
    """Forgotten samples against unseen ones, by −loss."""
    unseen = outputs.unseen()
    return roc.measured(
        -loss(outputs.forget.logits, outputs.forget.labels),
        -loss(unseen.logits, unseen.labels),
    )
