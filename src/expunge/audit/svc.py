"""MIA-Efficacy, the membership inference of the unlearning tables (Jia et al. 2023, appendix C.3; the paper's appendix).

A support vector machine learns to tell retained samples (members) from test samples, as many of each, on one feature of the
audited model. It is then asked about the forgotten samples:

    efficacy = share of them that it takes for non-members

It says little by itself: a machine that cannot tell members from test samples (`separates` near 0.5) answers by chance. Hold
it against the same number of a retrained model.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from ..errors import ConfigError
from . import signals
from .outputs import Outputs, Part

Array = NDArray[Any]

FEATURES: dict[str, Callable[[Part], Array]] = {
    "confidence": lambda part: signals.confidence(part.logits, part.labels),
    "correctness": lambda part: signals.correctness(part.logits, part.labels),
    "entropy": lambda part: signals.entropy(part.logits),
    "modified_entropy": lambda part: signals.modified_entropy(part.logits, part.labels),
    "probabilities": lambda part: signals.probabilities(part.logits),
}


def efficacy(
    outputs: Outputs, feature: str = "confidence", *, most: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """MIA-Efficacy on one feature, and what it was learned from.

    The protocol takes as many retained samples as there are test samples. `most` caps both (the machine's cost grows faster
    than the square: 0.5 s for 2,000 of each, 22 s for 10,000); the samples are drawn with `seed`.
    """
    if feature not in FEATURES:
        raise ConfigError(f"feature must be one of {', '.join(FEATURES)}; got {feature!r}.")
    members, nonmembers = balanced(outputs, most=most, seed=seed)
    read = FEATURES[feature]
    known = np.concatenate([_rows(read(members)), _rows(read(nonmembers))])
    truth = np.concatenate([np.ones(len(members)), np.zeros(len(nonmembers))])
    machine = SVC(C=3, gamma="auto", kernel="rbf", cache_size=500).fit(known, truth)
    return {
        "efficacy": float(np.mean(machine.predict(_rows(read(outputs.forget))) == 0)),
        "separates": float(np.mean(machine.predict(known) == truth)),
        "learned_from": {"retained": len(members), "test": len(nonmembers), "seed": seed},
    }


def balanced(outputs: Outputs, *, most: int | None = None, seed: int = 0) -> tuple[Part, Part]:
    """As many retained as test samples, drawn without replacement."""
    if most is not None and most < 2:
        raise ConfigError(f"the machine needs 2 samples of each kind or more; got {most}.")
    count = min(len(outputs.retain), len(outputs.test), most or len(outputs.test))
    chance = np.random.default_rng(seed)
    return _drawn(outputs.retain, count, chance), _drawn(outputs.test, count, chance)


def _drawn(part: Part, count: int, chance: np.random.Generator) -> Part:
    """All of a part in its order, or so many of its samples."""
    return part if count == len(part) else part[np.sort(chance.choice(len(part), count, replace=False))]


def _rows(feature: Array) -> Array:
    return feature.reshape(len(feature), -1)
