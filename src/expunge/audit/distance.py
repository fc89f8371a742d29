"""How far the audited model is from one that was retrained: in accuracy, in predictions, in weights.

Two retrained models differ from each other too. Compare with the distance between those before reading a number as large.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import DataError
from .accuracy import accuracy
from .outputs import Outputs, Part, same_samples
from .signals import log_probabilities


def to_retrained(outputs: Outputs, retrained: Outputs, *, weights: float | None = None) -> dict[str, Any]:
    """Gaps in accuracy (this model's minus the retrained one's), KL(retrained ‖ this) in nats, and disagreement.

    The two single numbers are means over the test samples, which neither model has seen; `by_part` has them all.
    """
    same_samples(outputs, retrained, "the retrained model")
    mine, theirs = accuracy(outputs), accuracy(retrained)
    pairs = {name: (part, getattr(retrained, name)) for name, part in outputs.parts()}
    by_part = {name: {"kl": kl(*pair), "disagreement": disagreement(*pair)} for name, pair in pairs.items()}
    return {
        "accuracy_gap": {name: mine[name] - theirs[name] for name in mine if mine[name] is not None},
        **by_part["test"],
        "by_part": by_part,
        "weights": weights,
    }


def kl(part: Part, retrained: Part) -> float:
    """Mean over samples of Σ r log(r/p), r the retrained model's probabilities."""
    logs, reference = log_probabilities(part.logits), log_probabilities(retrained.logits)
    return float(np.mean(np.sum(np.exp(reference) * (reference - logs), axis=-1)))


def disagreement(part: Part, retrained: Part) -> float:
    """Share of samples to which the two models give different labels."""
    return float(np.mean(part.logits.argmax(-1) != retrained.logits.argmax(-1)))


def weight_distance(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    """Euclidean distance of two state dicts, over their floating-point entries."""
    if first.keys() != second.keys() or any(first[name].shape != second[name].shape for name in first):
        raise DataError("the two models' weights have different names or shapes, so there is no distance between them.")
    return math.sqrt(sum(_squared(first[name], second[name]) for name in first if first[name].is_floating_point()))


def _squared(first: Any, second: Any) -> float:
    return float((first.detach().cpu().double() - second.detach().cpu().double()).square().sum())
