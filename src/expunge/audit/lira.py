"""LiRA, the likelihood ratio attack (Carlini et al. 2022): each sample is held against its own distribution over models.

A sample's φ (`signals.logit_confidence`) is about normal over models trained without it ("out") and, elsewhere, over models
trained with it ("in"). The score of a sample is

    online     log N(φ; in) − log N(φ; out)              needs models of both kinds
    offline    (φ − mean out)/sd out                     needs "out" alone: retrained models

With few models a variance per sample is guesswork; below `ENOUGH` of a kind one variance serves all samples (section VI-C).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from . import roc
from .outputs import Outputs, same_samples
from .signals import logit_confidence

Array = NDArray[Any]
ENOUGH = 32
LEAST_DEVIATION = 1e-6


def lira(outputs: Outputs, retrained: Sequence[Outputs]) -> dict[str, Any]:
    """Offline, in an audit: "out" are models retrained without the forgotten samples.

    Test samples of the same classes were never seen by anyone, and get their score in the same way. An AUC of 0.5 says that
    the audited model treats forgotten samples as it treats unseen ones; above, it remembers; below, it shuns them.
    """
    phi, out = statistics(outputs, retrained)
    marks = offline(phi, out)
    return {**roc.measured(*np.split(marks, [len(outputs.forget)])), "models": len(retrained)}


def statistics(outputs: Outputs, others: Sequence[Outputs]) -> tuple[Array, Array]:
    """φ of forgotten and then unseen samples: of the audited model (n), and of each other one (k × n)."""
    if not others:
        raise DataError("this attack compares with models retrained without the forgotten samples; got none.")
    for i, other in enumerate(others):
        same_samples(outputs, other, f"retrained model {i}")
    return _phi(outputs), np.stack([_phi(other) for other in others])


def offline(target: Array, out: Array) -> Array:
    """Standard deviations by which φ lies above its mean over models that never saw the sample."""
    mean, deviation = _normal(np.asarray(out, np.float64), np.ones(np.shape(out), bool))
    return (target - mean) / deviation


def online(target: Array, models: Array, member: Array) -> Array:
    """Log likelihood ratio, in against out. `models` and `member` are models × samples: φ, and who was trained on what."""
    models, member = np.asarray(models, np.float64), np.asarray(member, bool)
    if models.shape != member.shape or models.shape[1:] != np.shape(target):
        raise DataError(
            f"models and member must be models × samples, for the target's {np.shape(target)} samples; got {models.shape} "
            f"and {member.shape}."
        )
    inside, outside = _normal(models, member), _normal(models, ~member)
    return _log_density(target, *inside) - _log_density(target, *outside)


def _normal(models: Array, chosen: Array) -> tuple[Array, Array]:
    """Mean and deviation per sample, over the chosen models."""
    counts = chosen.sum(axis=0)
    if counts.min() < 1:
        raise DataError(
            f"sample {int(counts.argmin())} has no model of one kind (in or out), so it has no distribution."
        )
    mean = np.where(chosen, models, 0.0).sum(axis=0) / counts
    squares = np.where(chosen, (models - mean) ** 2, 0.0).sum(axis=0)
    if counts.min() >= ENOUGH:
        deviation = np.sqrt(squares / (counts - 1))
    else:  # one for all samples; a single model has none, and then only the order of the scores means anything
        freedom = int((counts - 1).sum())
        deviation = np.full(mean.shape, np.sqrt(squares.sum() / freedom) if freedom else 1.0)
    return mean, np.maximum(deviation, LEAST_DEVIATION)


def _log_density(value: Array, mean: Array, deviation: Array) -> Array:
    return -np.log(deviation) - 0.5 * ((value - mean) / deviation) ** 2


def _phi(outputs: Outputs) -> Array:
    parts = (outputs.forget, outputs.unseen())
    return np.concatenate([logit_confidence(part.logits, part.labels) for part in parts])
