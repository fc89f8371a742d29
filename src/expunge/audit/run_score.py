"""One number per run, for `lower_bound`: how much better the forgotten samples fare than unseen ones."""

from .outputs import Outputs
from .signals import logit_confidence


def run_score(outputs: Outputs) -> float:
    """Mean φ of the forgotten samples minus that of unseen samples of their classes."""
    unseen = outputs.unseen()
    gone = logit_confidence(outputs.forget.logits, outputs.forget.labels)
    return float(gone.mean() - logit_confidence(unseen.logits, unseen.labels).mean())
